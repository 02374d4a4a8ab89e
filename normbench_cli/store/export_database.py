"""A new SQLite file with the runs of a database, or some of them: compressed, and merged elsewhere by `db merge`.

Folders of the machine mean nothing elsewhere, so of a recorded path only the last part is kept.
"""

from __future__ import annotations

import lzma
import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from sqlalchemy import delete

from normbench_cli.errors import DatabaseError
from normbench_cli.store._merge.contents import SAMPLES, Contents, read_contents
from normbench_cli.store._merge.merge_rows import Merger
from normbench_cli.store._merge.merged import Merged
from normbench_cli.store.reading import RUNS
from normbench_cli.store.rows import Row
from normbench_cli.store.sqlite_file import connect
from normbench_cli.store.store import Store

NAME = "normbench.db.xz"  # `db merge FOLDER` finds it


def export_database(store: Store, folder: Path, run_ids: list[str] | None, *, series: bool) -> int:
    """Write the file; how many runs are in it.  run_ids: these alone, without nights; None: everything."""
    path, done = folder.absolute() / "normbench.db", Merged(store.location.shown)
    with store.reading() as theirs, Store.open(str(path), sweep=False) as target:
        source = portable(read_contents(theirs))
        with target.writing(alone=True) as session:
            if run_ids is None:
                Merger(read_contents(session), source, done).merge()
            else:
                merger = Merger(read_contents(session), only(source, run_ids), done)
                merger.environments = merger.add_environments()
                merger.merge_owners(RUNS)
            if not series:
                session.execute(delete(SAMPLES))
        store.left_out |= source.left_out | done.left_out
    with closing(connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
        connection.execute("VACUUM")
    compress(path, folder / NAME)
    return len(done.added)


def compress(path: Path, compressed: Path) -> None:
    """Replace a file by its compressed form."""
    with path.open("rb") as source, lzma.open(compressed, "wb", preset=9) as target:
        shutil.copyfileobj(source, target)
    path.unlink()


def decompress(compressed: Path, path: Path) -> Path:
    """The database that is in a compressed file, as a file of its own."""
    try:
        with lzma.open(compressed) as source, path.open("wb") as target:
            shutil.copyfileobj(source, target)
    except (lzma.LZMAError, EOFError) as error:
        raise DatabaseError(
            f"{compressed} is damaged: {error}", "export it again with `normbench db export`"
        ) from error
    return path


def only(contents: Contents, run_ids: list[str]) -> Contents:
    """These runs, and their environments."""
    chosen = set(run_ids)
    runs = {one: row for one, row in contents.owners[RUNS.name].items() if row["id"] in chosen}
    used = {row["environment_id"] for row in runs.values()}
    environments = {key: facts for key, facts in contents.environments.items() if key in used}
    return replace(contents, environments=environments, owners=contents.owners | {RUNS.name: runs})


def portable(contents: Contents) -> Contents:
    runs = {one: portable_run(row) for one, row in contents.owners[RUNS.name].items()}
    return replace(contents, owners=contents.owners | {RUNS.name: runs})


def portable_run(row: Row) -> Row:
    """A run whose command line and data name no folder of the machine."""
    details, data = row["details"], row["details"].get("data")
    if isinstance(data, dict) and "source" in data:
        details = {**details, "data": {**data, "source": last_part(data["source"])}}
    return {**row, "argv": [last_part(one) for one in row["argv"]], "details": details}


def last_part(text: Any) -> Any:
    """Of an absolute path its last part; anything else as it is."""
    is_path = isinstance(text, str) and PurePath(text).is_absolute()
    return PurePath(text).name if is_path else text
