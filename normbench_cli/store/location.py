"""The location of a database: an SQLite file, or the URL of a server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from normbench_cli import paths
from normbench_cli.disk import free_bytes
from normbench_cli.errors import DatabaseError
from normbench_cli.printable import masked
from normbench_cli.store.errors import CHOOSE_ANOTHER
from normbench_cli.store.sqlite_file import BUSY_SECONDS, readonly_query

ROOM = 2**17  # free bytes on disk below which a database is read-only
POSTGRESQL, DRIVER = ("postgresql", "postgres"), "postgresql+psycopg"


@dataclass(frozen=True)
class Location:
    """A results database: an SQLite file (``path``), or an SQLAlchemy ``url``.

    shown: its name in messages, without a password; timeout: seconds to wait for another program's lock.
    """

    shown: str
    path: Path | None = None
    url: URL | None = None
    timeout: float = BUSY_SECONDS

    def __str__(self) -> str:
        return self.shown

    @property
    def address(self) -> str:
        """The path or URL to open this database from elsewhere.  Never print it: it includes the password."""
        return str(self.path) if self.url is None else self.url.render_as_string(hide_password=False)

    @property
    def name(self) -> str:
        """A unique name, independent of the working folder, links and the password."""
        if self.path is not None or self.url is None:
            return str(self.path.resolve()) if self.path else self.shown
        return masked(str(self.url._replace(password=None)))

    @property
    def writable(self) -> bool:
        """Whether SQLite can write the file and create others beside it."""
        if self.path is None:
            return True
        return not (paths.read_only(self.path) or paths.read_only(self.path.parent) or self._is_cramped())

    def _is_cramped(self) -> bool:
        """Whether the disk lacks space for the files that SQLite creates beside a writable database."""
        return self.path is not None and self.path.exists() and free_bytes(self.path) < ROOM

    @property
    def read_query(self) -> str:
        """The URI query for SQLite to read the file while others write; without write access, another one."""
        return "mode=rw" if self.path is None or self.writable else readonly_query(self.path)

    def ensure_writable(self) -> None:
        """Raise an error if this database cannot be written or created."""
        if self.path is None:
            return
        if self.path.exists() and paths.read_only(self.path):
            raise DatabaseError(f"the database {self.shown} is read-only", f"make it writable, or {CHOOSE_ANOTHER}")
        if self._is_cramped():
            free = free_bytes(self.path)
            what = f"the database {self.shown} cannot be written: {free:,} bytes are free, {ROOM - free:,} are missing"
            raise DatabaseError(what, "free space on its disk")
        if self.path.parent == paths.home():
            paths.ensure_writable(self.path.parent, "NORMBENCH_HOME")
        else:
            paths.ensure_writable(self.path.parent, "--db or NORMBENCH_DB", "a file in a folder")


def parse_location(text: str) -> Location:
    """Parse a path or an SQLAlchemy URL, as given on the command line."""
    if "://" not in text:
        path = paths.expanded(text)
        return Location(str(path), path.absolute())
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        do = "write postgresql://user@host/name, or a path"
        raise DatabaseError(f"'{masked(text)}' is not a database URL", do) from error
    if url.get_backend_name() == "sqlite":
        name = url.database or ""
        if name in ("", ":memory:") or name.startswith("file:") or url.query:
            do = "write sqlite:///path, or the path alone"
            raise DatabaseError(f"'{text}' does not name an SQLite file", do)
        return Location(name, paths.expanded(name).absolute())
    return Location(masked(url.render_as_string(hide_password=True)), url=with_driver(url))


def with_driver(url: URL) -> URL:
    """The URL of a PostgreSQL server with psycopg as its driver; other URLs are unchanged."""
    if url.get_backend_name() not in POSTGRESQL:
        return url
    if "@" in f"{url.host}{url.database}":
        raise DatabaseError("the password in a database URL has an @", "write %40 in its place")
    if url.drivername not in (*POSTGRESQL, DRIVER):
        do = "write postgresql://user@host/name"
        raise DatabaseError(f"{url.drivername} is not the driver that normbench uses", do)
    return url.set(drivername=DRIVER)
