"""Spools: records that processes could not write to a database, kept in files until some process can.

A spool file is beside the database or, if that folder cannot be written, in the home folder or the folder for
temporary files.
"""

from __future__ import annotations

import os
import socket
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from normbench_cli import paths
from normbench_cli.store._spool.spool_file import BEGINNING, ENDING, Owner, content_of, owner_from_json
from normbench_cli.store._spool.writes import Write, summary, write_from_json
from normbench_cli.store.errors import DamagedValue
from normbench_cli.store.location import Location
from normbench_cli.store.processes import SILENCE, is_alive

Identity = tuple[int, int]


@dataclass(frozen=True)
class Spool:
    """The content of a spool file.  damaged: the number of unreadable lines, not counting a truncated last one."""

    path: Path
    owner: Owner
    writes: Sequence[Write]
    damaged: int
    changed: float

    @property
    def what(self) -> str:
        """A summary of its writes."""
        return summary(self.writes)

    @property
    def is_live(self) -> bool:
        """Whether the run's process is alive and will record this itself."""
        if any(write.status for write in self.writes):
            return False
        if self.owner.host != socket.gethostname():
            return time.time() - self.changed < SILENCE.total_seconds()
        return is_alive(self.owner.pid, self.owner.process_started)


@dataclass(frozen=True)
class SpoolFolder:
    """A folder for spool files, created in `base` if necessary.  private: only for this user, as `base` is shared."""

    path: Path
    base: Path
    private: bool = False


def spool_folders(location: Location) -> list[SpoolFolder]:
    """The folders for the spool files of a database, the preferred one first."""
    home, temporary = paths.home().absolute(), paths.temporary()
    user = f"normbench-spool-{getattr(os, 'getuid', lambda: 'user')()}"
    elsewhere = [SpoolFolder(home / "spool", home), SpoolFolder(temporary / user, temporary, private=True)]
    if location.path is None:
        return elsewhere
    beside = location.path.resolve().parent
    return [SpoolFolder(beside, beside), *elsewhere]


class SpoolFolders:
    """The folders for a database's spool files when this object was made.

    A folder that has disappeared is not recreated: it may be the mount point of a disk, and a file there would be
    hidden when the disk is mounted again.
    """

    def __init__(self, location: Location) -> None:
        self._database = location.path
        self._known = {folder: identity(folder.base) for folder in spool_folders(location)}

    def usable(self) -> Iterator[Path]:
        """Folders that are still the same ones; the caller has to try whether they are writable."""
        for folder, known in self._known.items():
            with suppress(OSError):
                if known is None or identity(folder.base) != known:
                    continue
                if folder.path == folder.base and not (self._database and self._database.exists()):
                    continue
                folder.path.mkdir(mode=0o700 if folder.private else 0o777, exist_ok=True)
                if not folder.private or is_own(folder.path):
                    yield folder.path


def identity(folder: Path) -> Identity | None:
    """The device and inode of a folder; None if it does not exist."""
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_own(folder: Path) -> bool:
    """Whether this user owns a folder: in the folder for temporary files anyone may create one of any name."""
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == getattr(os, "getuid", lambda: found.st_uid)()


def pending(location: Location) -> list[Spool]:
    """The spools of a database, oldest first, including those that live processes are still writing."""
    own = [path for path in spool_paths(location) if belongs(path, location)]
    return sorted(filter(None, map(read_spool, own)), key=lambda spool: spool.changed)


def spool_paths(location: Location) -> Iterator[Path]:
    for folder in spool_folders(location):
        with suppress(OSError):
            if not folder.private or is_own(folder.path):
                names = sorted(entry.name for entry in os.scandir(folder.path))
                yield from (
                    folder.path / name for name in names if name.startswith(BEGINNING) and name.endswith(ENDING)
                )


def belongs(path: Path, location: Location) -> bool:
    """Whether a spool belongs to this database, which may have been moved together with the spools beside it.

    Reads only the spool's first line: the folder for temporary files has the spools of other databases, too.
    """
    try:
        with path.open("rb") as file:
            owner = owner_from_json(content_of(file.readline().rstrip(b"\n")) or {})
    except OSError:
        return False
    if owner is None:
        return False
    if location.path is None or owner.database == location.name:
        return owner.database == location.name
    database = location.path.resolve()
    moved = not os.path.exists(owner.database)  # noqa: PTH110  False where a folder may not be searched
    return moved and path.parent == database.parent and Path(owner.database).name == database.name


def read_spool(path: Path) -> Spool | None:
    """Read a spool file; None if it is missing, not a spool file, or was truncated before the first write."""
    try:
        content, changed = path.read_bytes(), path.stat().st_mtime
    except OSError:
        return None
    first, *lines = content.split(b"\n")
    owner = owner_from_json(content_of(first) or {})
    if owner is None:
        return None
    writes, damaged = list[Write](), 0
    for line in lines[:-1]:  # the last is empty or truncated
        try:
            writes.append(write_from_json(owner.run, content_of(line) or {}))
        except DamagedValue:
            damaged += 1
    return Spool(path, owner, writes, damaged, changed)
