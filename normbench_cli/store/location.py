"""Where a database is, and what stands there: looked at without changing it and without loading Alembic."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from normbench_cli import paths
from normbench_cli.errors import DatabaseError
from normbench_cli.store.schema import HEAD, VERSION_TABLE

BUSY_SECONDS = 30
MAGIC = b"SQLite format 3\0"
CHOOSE = "name another file with --db or NORMBENCH_DB"
OPEN_FILES: list[Path] = []  # the files that this process holds open
RESTORE = "restore a backup (see `normbench db backup`), or " + CHOOSE


class NoDatabase(DatabaseError):
    """There is none yet, and the command is not one that makes it."""


@dataclass(frozen=True)
class Location:
    """A results database: an SQLite file (``path``) or what an SQLAlchemy ``url`` leads to."""

    shown: str
    path: Path | None = None
    url: URL | None = None

    def __str__(self) -> str:
        return self.shown

    @property
    def writable(self) -> bool:
        """SQLite writes the file and makes others beside it."""
        if self.path is None:
            return True
        return not (paths.read_only(self.path) or paths.read_only(self.path.parent))

    @property
    def reading(self) -> str:
        """How SQLite opens it to read beside those who write; a readonly_query is all that a read-only one allows."""
        return "mode=rw" if self.path is None or self.writable else readonly_query(self.path)

    def ensure_writable(self) -> None:
        """Stop with one line if this database cannot be written, or made."""
        if self.path is None:
            return
        if self.path.exists() and paths.read_only(self.path):
            raise DatabaseError(f"the database {self.shown} is read-only", f"make it writable, or {CHOOSE}")
        if self.path.parent == paths.home():
            paths.ensure_writable(self.path.parent, "NORMBENCH_HOME")
        else:
            paths.ensure_writable(self.path.parent, "--db or NORMBENCH_DB", "a file in a folder")


def parse_location(text: str) -> Location:
    """A path or an SQLAlchemy URL, as a person writes it."""
    if "://" not in text:
        path = Path(text).expanduser()
        return Location(str(path), path.absolute())
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        do = "write dialect://user@host/name, or a path"
        raise DatabaseError(f"'{text}' is not a database URL", do) from error
    if url.get_backend_name() == "sqlite":
        name = url.database or ""
        if name in ("", ":memory:") or name.startswith("file:") or url.query:
            do = "write sqlite:///path, or the path alone"
            raise DatabaseError(f"'{text}' does not name an SQLite file", do)
        return Location(name, Path(name).expanduser().absolute())
    return Location(url.render_as_string(hide_password=True), url=url)


def connect(path: Path, query: str = "mode=rw") -> sqlite3.Connection:
    """An SQLite connection that begins no transaction by itself; ``mode=rw`` makes no file."""
    return sqlite3.connect(
        f"{path.as_uri()}?{query}", uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )


def readonly_query(path: Path) -> str:
    """How to open a file and leave no trace; what is still in its log must be read through the log."""
    return "mode=ro" if has_log(path) else "immutable=1"


def log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def has_log(path: Path) -> bool:
    log = log_of(path)
    return log.exists() and log.stat().st_size > 0


@contextmanager
def hold_open(path: Path) -> Iterator[None]:
    """Meanwhile transactions are quick.  When the last connection to a file is closed SQLite brings its log into it,
    which waits for the disk twice; while an idle one is open it does so when the log has grown."""
    with closing(connect(path)) as idle:
        idle.execute("PRAGMA schema_version").fetchall()  # only now it has the file open
        OPEN_FILES.append(path.resolve())
        try:
            yield
        finally:
            OPEN_FILES.remove(path.resolve())


def sync_log(path: Path) -> None:
    """Wait until the log is on the disk.  Without one, all is in the file, and SQLite has waited for that."""
    try:
        log = os.open(log_of(path), os.O_RDWR)
    except OSError:
        return
    try:
        os.fsync(log)
    finally:
        os.close(log)


def file_version(path: Path) -> str | None:
    """The schema version of an SQLite file; None if it is still to be made.  Anything else stops here."""
    try:
        if path.is_dir():
            raise DatabaseError(f"the database {path} is a folder", CHOOSE)
        if not path.exists() or (path.stat().st_size == 0 and path.is_file() and not has_log(path)):
            return None
        if not path.is_file():
            raise DatabaseError(f"the database {path} is not a regular file", CHOOSE)
        if path.resolve() not in OPEN_FILES:  # closing a file that it holds, a process loses its locks on it
            check_header(path)
        with closing(connect(path, readonly_query(path))) as connection:
            listing = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            tables = [name for (name,) in listing]
            if VERSION_TABLE in tables:
                versions = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchall()
                return check_versions([version for (version,) in versions], str(path))
    except OSError as error:
        raise DatabaseError(f"the database {path} cannot be read: {error.strerror}", CHOOSE) from error
    except sqlite3.DatabaseError as error:
        raise DatabaseError(f"the database {path} cannot be read: {error}", RESTORE) from error
    if tables:
        raise DatabaseError(f"the database {path} belongs to another program", CHOOSE)
    return None


def check_header(path: Path) -> None:
    """Is this SQLite, and is the file as long as its first page says?"""
    log = has_log(path)  # asked first: pages still in the log are not in the file yet
    with path.open("rb") as file:
        header = file.read(100)
    if not header.startswith(MAGIC):
        raise DatabaseError(f"the file {path} is not a database", CHOOSE)
    page = int.from_bytes(header[16:18], "big")
    needed = int.from_bytes(header[28:32], "big") * (65536 if page == 1 else page)
    counted = header[24:28] == header[92:96]  # else an old SQLite wrote last, and the page count is not kept
    if not log and (len(header) < 100 or (counted and path.stat().st_size < needed)):
        size = path.stat().st_size
        raise DatabaseError(f"the database {path} is truncated: {size} of {needed} bytes", RESTORE)


def check_versions(versions: list[str], shown: str) -> str:
    """The one version a database has; one that this program does not know is a newer one's."""
    if len(versions) != 1:
        raise DatabaseError(f"the database {shown} has {len(versions)} schema versions, not one", RESTORE)
    if versions[0] > HEAD:
        raise DatabaseError(
            f"the database {shown} is of a newer normbench (schema {versions[0]}, this one knows {HEAD})",
            "upgrade normbench",
        )
    return versions[0]


def need_head(version: str, shown: str) -> None:
    if version != HEAD:
        raise DatabaseError(
            f"the database {shown} is of an older normbench (schema {version}, now {HEAD})",
            "run `normbench db upgrade`, which makes a backup first",
        )
