"""A spool file: the writes of one run that could not be made to the database, one per line.

Each line has its length and checksum, so a line truncated by a crash is recognized.  The first names the run, the
database and the writing process::

    0000008c 5f0a1c22 {"spool": 1, "database": "results.db", "run": "d322c4f1", "host": ..., "pid": ...}
    00000211 e07b3f6d {"at": "2026-01-31T12:00:00+00:00", "metrics": [...]}
"""

from __future__ import annotations

import json
import os
import secrets
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from normbench_cli.disk import sync_folder
from normbench_cli.store._spool.writes import Write

FORMAT = 1
BEGINNING, ENDING = "normbench-", ".spool"
HEAD = 18  # characters before a line's content: two numbers of eight hex digits, each followed by a space


@dataclass(frozen=True)
class Owner:
    """The process that writes a spool file, and its run and database."""

    database: str
    run: str
    host: str
    pid: int
    process_started: float

    def to_json(self) -> dict[str, Any]:
        return {"spool": FORMAT, **asdict(self)}


def owner_from_json(content: Mapping[str, Any]) -> Owner | None:
    """Read the header; None if this is none, or one of another version."""
    kinds = {"database": str, "run": str, "host": str, "pid": int, "process_started": float}
    if content.get("spool") != FORMAT or any(type(content.get(name)) is not kind for name, kind in kinds.items()):
        return None
    return Owner(**{name: content[name] for name in kinds})


def line_of(content: Mapping[str, Any]) -> bytes:
    text = json.dumps(content).encode()
    return b"%08x %08x %s\n" % (len(text), zlib.crc32(text), text)


def content_of(line: bytes) -> dict[str, Any] | None:
    """The content of a line; None if it is damaged."""
    text = line[HEAD:]
    if line[:HEAD] != b"%08x %08x " % (len(text), zlib.crc32(text)):
        return None
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


class SpoolFile:
    """A spool file that this process writes.  Everything written to it would survive a power failure."""

    def __init__(self, folder: Path, owner: Owner, writes: Sequence[Write]) -> None:
        """Create the file with these writes.  After an OSError no file is left."""
        self.path = folder / f"{BEGINNING}{owner.run}-{secrets.token_hex(8)}{ENDING}"
        self._size = 0
        try:
            self._write(os.O_CREAT | os.O_EXCL, b"".join(map(line_of, [owner.to_json(), *map(Write.to_json, writes)])))
            sync_folder(folder)
        except OSError:
            self.path.unlink(missing_ok=True)
            raise

    def append(self, writes: Sequence[Write]) -> None:
        """Append all writes, or none and raise an OSError."""
        self._write(0, b"".join(line_of(write.to_json()) for write in writes))

    def _write(self, flags: int, content: bytes) -> None:
        """Open the file by name for every write, because it may have disappeared with its folder."""
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | flags, 0o600)
        try:
            if os.fstat(handle).st_size != self._size:
                raise OSError(f"{self.path} is not what was written to it")
            try:
                left = memoryview(content)
                while left:
                    left = left[os.write(handle, left) :]
                os.fsync(handle)
            except OSError:
                os.ftruncate(handle, self._size)  # remove a partial line
                raise
        finally:
            os.close(handle)
        self._size += len(content)
