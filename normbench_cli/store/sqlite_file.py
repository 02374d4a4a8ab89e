"""SQLite files: connecting, inspecting without changes, keeping open."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from normbench_cli.errors import DatabaseError
from normbench_cli.store.errors import CHOOSE_ANOTHER, RESTORE_BACKUP
from normbench_cli.store.file_errors import SQLITE_ERRORS, is_damage, unusable
from normbench_cli.store.schema import VERSION_TABLE
from normbench_cli.store.versions import single_version

BUSY_SECONDS = 30.0  # how long a transaction waits for another's lock
LARGEST_ROW = 2**26 + 2**20  # bytes: the longest readable series, plus some
OPEN_FILES: list[Path] = []  # the database files that this process keeps open

# the file header, see "Database File Format" on sqlite.org; numbers are big-endian
HEADER_SIZE = 100
MAGIC = b"SQLite format 3\0"
PAGE_SIZE = slice(16, 18)
CHANGE_COUNTER = slice(24, 28)
PAGE_COUNT = slice(28, 32)
VERSION_VALID_FOR = slice(92, 96)


def connect(path: Path, query: str = "mode=rw", timeout: float = BUSY_SECONDS) -> sqlite3.Connection:
    """Connect in autocommit mode; ``mode=rw`` creates no file.

    A row larger than LARGEST_ROW raises an error before it is loaded.
    """
    connection = sqlite3.connect(
        f"{path.as_uri()}?{query}", uri=True, timeout=timeout, isolation_level=None, check_same_thread=False
    )
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_ROW)
    connection.execute("PRAGMA cell_size_check = ON")  # makes SQLite detect more damage before it reads a page
    return connection


def readonly_query(path: Path) -> str:
    """The URI query to open a file without write access; rows still in the write-ahead log need that log.

    An immutable file is read without any lock, so this is only for files that this process cannot write.
    """
    return "mode=ro" if has_log(path) else "mode=ro&immutable=1"


def log_of(path: Path) -> Path:
    """SQLite's write-ahead log (WAL) of a database file."""
    return path.with_name(path.name + "-wal")


def has_log(path: Path) -> bool:
    log = log_of(path)
    return log.exists() and log.stat().st_size > 0


@contextmanager
def hold_open(path: Path) -> Iterator[None]:
    """Keep an idle connection to a file open, so that commits are fast.

    When the last connection closes, SQLite copies the log into the file (a checkpoint), which waits for the disk twice.
    While another connection is open, it does so only when the log has grown.
    """
    with closing(connect(path)) as idle:
        idle.execute("PRAGMA schema_version").fetchall()  # SQLite opens the file at the first statement
        OPEN_FILES.append(path.resolve())
        try:
            yield
        finally:
            OPEN_FILES.remove(path.resolve())


def sync_log(path: Path) -> None:
    """Wait until the log is on disk.  Without a log everything is in the file, which SQLite syncs itself."""
    try:
        log = os.open(log_of(path), os.O_RDWR)
    except OSError:
        return
    try:
        os.fsync(log)
    finally:
        os.close(log)


def file_version(path: Path, query: str = "mode=rw", timeout: float = BUSY_SECONDS) -> str | None:
    """The schema version of a database file; None if it does not exist or is empty.  Anything else is an error.

    query: how to open the file (`Location.read_query`).  SQLite's lock keeps it unchanged meanwhile: without the lock,
    a file into which another process copies its log would be taken for a damaged one.
    """
    try:
        if path.is_dir():
            raise DatabaseError(f"the database {path} is a folder", CHOOSE_ANOTHER)
        if not path.exists() or (path.stat().st_size == 0 and path.is_file() and not has_log(path)):
            return None
        if not path.is_file():
            raise DatabaseError(f"the database {path} is not a regular file", CHOOSE_ANOTHER)
        if path.stat().st_size < HEADER_SIZE:  # SQLite takes a file of one byte for an empty one
            check_header(path)
        with closing(connect(path, query, timeout)) as connection:
            connection.execute("BEGIN")  # one snapshot for all statements
            listing = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            tables = [name for (name,) in listing]
            check_size(path, connection)
            if VERSION_TABLE in tables:
                versions = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchall()
                return single_version([version for (version,) in versions], str(path))
    except OSError as error:
        raise DatabaseError(f"the database {path} cannot be read: {error.strerror}", CHOOSE_ANOTHER) from error
    except SQLITE_ERRORS as error:
        if is_damage(error) and path.resolve() not in OPEN_FILES:
            check_header(path)  # which names the cause, if it is a common one
        raise DatabaseError(*unusable(f"the database {path}", path, error)) from error
    if tables:
        raise DatabaseError(f"the database {path} belongs to another program", CHOOSE_ANOTHER)
    return None


def check_size(path: Path, connection: sqlite3.Connection) -> None:
    """Check that a file with an empty log contains all pages; SQLite does not miss a part of the last one."""
    (pages,), (page_size,) = (connection.execute(f"PRAGMA {of}").fetchone() for of in ("page_count", "page_size"))
    size = path.stat().st_size
    if not has_log(path) and size < pages * page_size:
        raise truncated(path, size, pages * page_size)


def check_header(path: Path) -> None:
    """Check that this is an SQLite file, as long as its header says.

    Closing the file drops all locks that this process has on it, so it must not be open elsewhere (OPEN_FILES).
    """
    log = has_log(path)  # before reading the header: pages in the log may not be in the file yet
    with path.open("rb") as file:
        header = file.read(HEADER_SIZE)
    if not header.startswith(MAGIC):
        raise DatabaseError(f"the file {path} is not a database", CHOOSE_ANOTHER)
    page_size = int.from_bytes(header[PAGE_SIZE], "big")
    needed = int.from_bytes(header[PAGE_COUNT], "big") * (65536 if page_size == 1 else page_size)
    counted = header[CHANGE_COUNTER] == header[VERSION_VALID_FOR]  # else an old SQLite wrote last, without a page count
    size = path.stat().st_size
    if not log and (len(header) < HEADER_SIZE or (counted and size < needed)):
        raise truncated(path, size, needed)


def truncated(path: Path, size: int, needed: int) -> DatabaseError:
    return DatabaseError(f"the database {path} is truncated: {size} of {needed} bytes", RESTORE_BACKUP)
