"""Spools: what processes could not write to a database, and where they keep it until somebody can.

A spool file stands beside the database, or where that folder cannot be written, in the home folder or the folder for
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
    """A spool file as it was read.  damaged: how many of its lines cannot be read, besides one that was cut off."""

    path: Path
    owner: Owner
    writes: Sequence[Write]
    damaged: int
    changed: float

    @property
    def what(self) -> str:
        """What it would record, in words."""
        return summary(self.writes)

    @property
    def is_live(self) -> bool:
        """Whether the run goes on in its process, which will record this by itself."""
        if any(write.status for write in self.writes):
            return False
        if self.owner.host != socket.gethostname():
            return time.time() - self.changed < SILENCE.total_seconds()
        return is_alive(self.owner.pid, self.owner.process_started)


def name_of(location: Location) -> str:
    """How spool files name the database: the same from any folder and through any link."""
    return str(location.path.resolve()) if location.path is not None else location.shown


@dataclass(frozen=True)
class Place:
    """A folder for spool files, made in `base` if necessary.  private: anybody may write to `base`."""

    folder: Path
    base: Path
    private: bool = False


def places(location: Location) -> list[Place]:
    """Where the spool files of a database may be, the best place first."""
    home, temporary = paths.home().absolute(), paths.temporary()
    user = f"normbench-spool-{getattr(os, 'getuid', lambda: 'user')()}"
    elsewhere = [Place(home / "spool", home), Place(temporary / user, temporary, private=True)]
    if location.path is None:
        return elsewhere
    beside = location.path.resolve().parent
    return [Place(beside, beside), *elsewhere]


class Places:
    """The places for a database's spool files, as they are now.

    A folder that has disappeared is not made again: under the same name there may be the folder on which a disk is
    mounted, and a file in there would be hidden when that disk is back.
    """

    def __init__(self, location: Location) -> None:
        self._database = location.path
        self._known = {place: identity(place.base) for place in places(location)}

    def usable(self) -> Iterator[Path]:
        """Folders that are still what they were; whether a file can be written there is to be tried."""
        for place, known in self._known.items():
            with suppress(OSError):
                if known is None or identity(place.base) != known:
                    continue
                if place.folder == place.base and not (self._database and self._database.exists()):
                    continue
                place.folder.mkdir(mode=0o700 if place.private else 0o777, exist_ok=True)
                if not place.private or is_own(place.folder):
                    yield place.folder


def identity(folder: Path) -> Identity | None:
    """Which folder this is; None if there is none."""
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_own(folder: Path) -> bool:
    """Whether this user has made a folder: in the folder for temporary files anyone may make one of any name."""
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == getattr(os, "getuid", lambda: found.st_uid)()


def pending(location: Location) -> list[Spool]:
    """The spools of a database, the oldest first, also those that live processes are still writing."""
    found = [spool for path in spool_paths(location) if (spool := read_spool(path)) and belongs(spool, location)]
    return sorted(found, key=lambda spool: spool.changed)


def spool_paths(location: Location) -> Iterator[Path]:
    for place in places(location):
        with suppress(OSError):
            if not place.private or is_own(place.folder):
                names = sorted(entry.name for entry in os.scandir(place.folder))
                yield from (
                    place.folder / name for name in names if name.startswith(BEGINNING) and name.endswith(ENDING)
                )


def belongs(spool: Spool, location: Location) -> bool:
    """Whether a spool is of this database, which may have been moved together with the spools beside it."""
    if location.path is None or spool.owner.database == name_of(location):
        return spool.owner.database == name_of(location)
    path = location.path.resolve()
    moved = not os.path.exists(spool.owner.database)  # noqa: PTH110  False where a folder may not be searched
    return moved and spool.path.parent == path.parent and Path(spool.owner.database).name == path.name


def read_spool(path: Path) -> Spool | None:
    """A spool file; None if it is not there, or none of ours, or was cut off before anything was written to it."""
    try:
        content, changed = path.read_bytes(), path.stat().st_mtime
    except OSError:
        return None
    first, *lines = content.split(b"\n")
    owner = owner_from_json(content_of(first) or {})
    if owner is None:
        return None
    writes, damaged = list[Write](), 0
    for line in lines[:-1]:  # the last is empty, or was cut off
        try:
            writes.append(write_from_json(owner.run, content_of(line) or {}))
        except DamagedValue:
            damaged += 1
    return Spool(path, owner, writes, damaged, changed)
