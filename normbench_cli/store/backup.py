"""Copies of an SQLite database."""

from __future__ import annotations

import os
from contextlib import closing
from datetime import datetime
from pathlib import Path

from normbench_cli.disk import free_bytes
from normbench_cli.errors import DatabaseError
from normbench_cli.store.errors import CHOOSE_ANOTHER, NoDatabase
from normbench_cli.store.file_errors import SQLITE_ERRORS, is_full
from normbench_cli.store.location import Location
from normbench_cli.store.sqlite_file import connect, file_version


def backup_name(path: Path, label: str = "") -> Path:
    """An unused name beside the database, such as normbench.backup-20260131-120000.db."""
    stem = f"{path.stem}.backup-{label}{datetime.now():%Y%m%d-%H%M%S}"
    names = (path.with_name(f"{stem}{f'-{n}' if n else ''}{path.suffix}") for n in range(1000))
    return next(name for name in names if not name.exists())


def backup(source: Location, target: Path | None = None, label: str = "") -> Path:
    """Copy an SQLite database, which may be in use, to a new file; the file's path.

    target: the new file, or a folder for it; label: goes into a name that is chosen here.
    """
    if source.path is None:
        raise DatabaseError(f"{source.shown} is not an SQLite file", "use its server's own tool for backups")
    if file_version(source.path) is None:
        raise NoDatabase(f"there is no database at {source.shown}", "nothing to back up")
    if target is None:
        target = backup_name(source.path, label)
    elif target.is_dir():
        target = target / backup_name(source.path).name
    create_new_file(target)
    try:
        with closing(connect(source.path, source.read_query)) as old, closing(connect(target.absolute())) as new:
            old.backup(new)
    except BaseException as error:
        target.unlink(missing_ok=True)
        if isinstance(error, SQLITE_ERRORS):
            if is_full(error, target):
                missing = max(0, source.path.stat().st_size - free_bytes(target))
                what = f"the backup {target} cannot be written: {error} (about {missing:,} bytes missing)"
                raise DatabaseError(what, "free space on its disk, or give the name of a file elsewhere") from error
            do = f"check its disk, or {CHOOSE_ANOTHER}"
            raise DatabaseError(f"the backup {target} failed: {error}", do) from error
        raise
    return target


def create_new_file(path: Path) -> None:
    """Create an empty file; an error if there is one already."""
    do = "give the name of a new file"
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except FileExistsError as error:
        raise DatabaseError(f"{path} exists", do) from error
    except OSError as error:
        raise DatabaseError(f"{path} cannot be written: {error.strerror}", do) from error
