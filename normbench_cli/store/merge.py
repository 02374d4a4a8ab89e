"""Merging databases: the records of others are added to this one.

Runs keep their ids; a run in both databases gets the later state and the measurements of both (`joining`); two runs
with the same id by chance are distinguished (`collisions`).  The result does not depend on the order, and merging twice
adds nothing.  A run that was removed here but is still in the other database is added again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from normbench_cli import paths
from normbench_cli.errors import DatabaseError, UsageError
from normbench_cli.store._merge.contents import Contents, read_contents
from normbench_cli.store._merge.merge_rows import Merger
from normbench_cli.store._merge.merged import Merged
from normbench_cli.store.backup import backup
from normbench_cli.store.connection import version_of
from normbench_cli.store.errors import NoDatabase
from normbench_cli.store.export_database import NAME as EXPORTED
from normbench_cli.store.export_database import decompress
from normbench_cli.store.location import Location, parse_location
from normbench_cli.store.run_folders import copy_folder, rename_folders
from normbench_cli.store.schema import HEAD
from normbench_cli.store.store import Store
from normbench_cli.store.upgrade import upgrade

DATABASE = "normbench.db"  # in a home folder


def merge(store: Store, others: Sequence[str], *, with_checkpoints: bool = False) -> list[Merged]:
    """Add the contents of all these databases, or nothing if one cannot be read.

    others: paths, URLs, or home folders.  An older database is upgraded in a copy.  with_checkpoints: also copy the
    run folders beside each database that is in a home folder.
    """
    folders: dict[str, str] = {}
    done: list[Merged] = []
    with ExitStack() as stack:
        named = [home_database(text) for text in others]
        locations = [parse_location(whole(text, store, stack)) for text in named]
        sources = [stack.enter_context(opened(location, store)) for location in locations]
        contents = [stack.enter_context(read(source)) for source in sources]
        with store.writing(alone=True) as session:
            for text, source in zip(named, contents, strict=True):
                target = read_contents(session)
                if target.left_out:
                    name, problem = next(iter(target.left_out.items()))
                    raise DatabaseError(
                        f"{store.location}: {name}: {problem}", "repair it with `normbench db check --repair`"
                    )
                merged = Merged(parse_location(text).shown, left_out=dict(source.left_out))
                moved = Merger(target, source, merged).merge()
                folders = moved | {old: moved.get(new, new) for old, new in folders.items()}
                done.append(merged)
    rename_folders(folders)
    if with_checkpoints:
        for location, merged, source in zip(locations, done, contents, strict=True):
            merged.folders = copy_folders(location, source, merged)
    return done


def copy_folders(location: Location, source: Contents, merged: Merged) -> list[str]:
    """Copy the checkpoints of a source's runs that are missing here; returns the ids of these runs."""
    if location.path is None:
        return []
    ids = [row["id"] for row in source.owners["runs"].values()]
    runs = location.path.parent / "runs"
    return [run_id for run_id in ids if copy_folder(runs / run_id, merged.renamed.get(run_id, run_id))]


def home_database(text: str) -> str:
    """The path of a database, perhaps given by its home folder."""
    if "://" in text:
        return text
    path = paths.expanded(text)
    try:
        if not path.is_dir():
            return text
        return str(path / (EXPORTED if (path / EXPORTED).exists() else DATABASE))
    except OSError:  # opening it reports the error
        return text


def whole(text: str, store: Store, stack: ExitStack) -> str:
    """The path of a database; for an exported one, that of a decompressed copy, which the stack removes."""
    if not text.endswith(Path(EXPORTED).suffix) or not Path(text).is_file():
        return text
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix=".merging-", dir=folder_of(store)))
    return str(decompress(Path(text), Path(folder) / DATABASE))


def folder_of(store: Store) -> Path:
    """The folder of the database; for one on a server, the home folder."""
    return store.location.path.parent if store.location.path else paths.home()


@contextmanager
def opened(location: Location, target: Store) -> Iterator[Store]:
    """Open another database at the newest schema; an older one as a temporary upgraded copy."""
    version = version_of(location)
    if version is None:
        raise NoDatabase(f"there is no database at {location}", "name a file that normbench has made, or its home")
    if is_same(location, target.location):
        raise UsageError(f"{location} is the database itself", "name another one")
    if version == HEAD or location.path is None:
        with Store.open(location.address, write=False, sweep=False) as store:
            yield store
        return
    with tempfile.TemporaryDirectory(prefix=".merging-", dir=folder_of(target)) as folder:
        copy = backup(location, Path(folder) / DATABASE)
        upgrade(parse_location(str(copy)))
        with Store.open(str(copy), write=False, sweep=False) as store:
            yield store


def is_same(one: Location, other: Location) -> bool:
    if one.path is None or other.path is None:
        return one.name == other.name
    return one.path.exists() and other.path.exists() and one.path.samefile(other.path)


@contextmanager
def read(source: Store) -> Iterator[Contents]:
    with source.reading() as session:
        yield read_contents(session)
