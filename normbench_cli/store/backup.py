"""Copies of an SQLite database."""

from __future__ import annotations

import os
from contextlib import closing
from datetime import datetime
from pathlib import Path

from normbench_cli.disk import UNFINISHED, free_bytes
from normbench_cli.errors import DatabaseError
from normbench_cli.store.errors import CHOOSE_ANOTHER, NoDatabase
from normbench_cli.store.file_errors import SQLITE_ERRORS, is_full
from normbench_cli.store.location import Location
from normbench_cli.store.sqlite_file import connect, file_version

NEW_FILE = "give the name of a new file"


def backup_name(path: Path, label: str = "") -> Path:
    """An unused name beside the database, such as normbench.backup-20260131-120000.db."""
    stem = f"{path.stem}.backup-{label}{datetime.now():%Y%m%d-%H%M%S}"
    names = (path.with_name(f"{stem}{f'-{n}' if n else ''}{path.suffix}") for n in range(1000))
    return next(name for name in names if not name.exists())


def backup(source: Location, target: Path | None = None, label: str = "") -> Path:
    """Copy an SQLite database, which may be in use, to a new file; returns its path.

    target: the new file, or a folder for it; label: becomes part of a generated name.
    """
    if source.path is None:
        do = f"use `pg_dump --format=custom --file=normbench.dump` with {source.shown}, and pg_restore"
        raise DatabaseError("a database on a server cannot be backed up as a file", do)
    if file_version(source.path, source.read_query, source.timeout) is None:
        raise NoDatabase(f"there is no database at {source.shown}", "nothing to back up")
    chosen = target is None or target.is_dir()
    beside = source.path if target is None else target / source.path.name
    made = backup_name(beside, "" if target else label) if target is None or chosen else target
    unfinished = made.with_name(f"{made.name}.{os.getpid()}{UNFINISHED}")
    create_new_file(unfinished, made)
    try:
        copy(source.path, source.read_query, unfinished)
        while not rename_new(unfinished, made):
            if not chosen:
                raise DatabaseError(f"{made} exists", NEW_FILE)
            made = backup_name(beside, "" if target else label)  # another process has taken the name
    except BaseException as error:
        unfinished.unlink(missing_ok=True)
        if isinstance(error, SQLITE_ERRORS):
            raise failed(error, made, source.path) from error
        raise
    return made


def failed(error: BaseException, target: Path, source: Path) -> DatabaseError:
    """Turn an SQLite error into one about the backup."""
    if is_full(error, target):
        missing = max(0, source.stat().st_size - free_bytes(target))
        what = f"the backup {target} cannot be written: {error} (about {missing:,} bytes missing)"
        return DatabaseError(what, "free space on its disk, or give the name of a file elsewhere")
    return DatabaseError(f"the backup {target} failed: {error}", f"check its disk, or {CHOOSE_ANOTHER}")


def copy(source: Path, query: str, target: Path) -> None:
    """Copy the database into an empty file."""
    with closing(connect(source, query)) as old, closing(connect(target.absolute())) as new:
        new.execute("PRAGMA journal_mode = OFF")  # no journal needed: a failed copy is removed
        old.backup(new)


def create_new_file(unfinished: Path, target: Path) -> None:
    """Create the empty file that will become the target; raise if it exists."""
    if target.exists():
        raise DatabaseError(f"{target} exists", NEW_FILE)
    try:
        os.close(os.open(unfinished, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o666))
    except OSError as error:
        raise DatabaseError(f"{target} cannot be written: {error.strerror}", NEW_FILE) from error


def rename_new(unfinished: Path, target: Path) -> bool:
    """Rename the complete copy, so that a killed process leaves no partial one; False if the name is taken."""
    try:
        os.link(unfinished, target)
    except FileExistsError:
        return False
    except OSError:  # this file system has no hard links
        try:
            target.touch(exist_ok=False)  # reserves the name
        except FileExistsError:
            return False
        unfinished.replace(target)
    else:
        unfinished.unlink()
    return True
