"""Classification of SQLite's errors about a database file: the file is damaged, its disk is full, or neither."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from normbench_cli.disk import free_bytes
from normbench_cli.store.errors import CHOOSE_ANOTHER, RESTORE_BACKUP

DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
FULL = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_TRUNCATE}
NAMES_OF_FULL = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}  # if little space is left
DAMAGED_WORDS = ("malformed", "not a database", "decode to UTF-8")
# Python raises UnicodeDecodeError if SQLite's own message quotes damaged text
SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
ENOUGH = 2**20  # bytes needed for the next rows and SQLite's own files


def is_damage(error: BaseException | None) -> bool:
    """Whether the file itself is at fault."""
    if isinstance(error, UnicodeDecodeError):
        return True
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the extended error code
    return code in DAMAGED or any(words in str(error) for words in DAMAGED_WORDS)


def is_full(error: BaseException | None, path: Path) -> bool:
    """Whether the disk is full, for which SQLite has many errors."""
    code = getattr(error, "sqlite_errorcode", 0)
    if code in FULL or "disk is full" in str(error):
        return True
    return code & 0xFF in NAMES_OF_FULL and free_bytes(path) < ENOUGH // 4


def locked(name: str) -> tuple[str, str]:
    return f"{name} is being written by another program", "try again when that has ended"


def unusable(name: str, path: Path, error: BaseException | None) -> tuple[str, str]:
    """What happened to a database file, and what to do about it."""
    cause = " ".join(str(error).split())
    if "locked" in cause:
        return locked(name)
    if is_full(error, path):
        free = free_bytes(path)
        missing = f", about {ENOUGH - free:,} are missing" if free < ENOUGH else ""
        return f"{name} could not be written: {cause} ({free:,} bytes are free{missing})", "free space on its disk"
    if is_damage(error):
        return f"{name} cannot be read: {cause}", f"see `normbench db check`; {RESTORE_BACKUP}"
    return f"{name} cannot be used: {cause}", f"check its disk, or {CHOOSE_ANOTHER}"
