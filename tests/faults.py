"""Bad days for a database: the disk is full, another program holds the lock, files are read-only, a folder is gone."""

from __future__ import annotations

import ctypes
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest

Fault = Callable[[Path], AbstractContextManager[object]]
SMALL = 2**22  # bytes of a small disk
HOLD_LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
"""
MODE_CHECKS = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH: with these, root may write anything


@contextmanager
def locked(database: Path) -> Iterator[None]:
    """Another process holds the lock for writing."""
    words = [sys.executable, "-S", "-c", HOLD_LOCK, str(database)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as stranger:
        assert stranger.stdout is not None
        assert stranger.stdout.readline() == "locked\n"
        yield
        stranger.kill()


@contextmanager
def full(database: Path) -> Iterator[None]:
    """No byte is left on the database's disk, which is a `small_disk`: never fill the machine's own.

    Another connection is open, so that SQLite keeps its log: removing that would make some room.
    """
    assert shutil.disk_usage(database.parent).total <= SMALL
    filler = database.with_name("filler")
    with closing(sqlite3.connect(database)) as other:
        other.execute("PRAGMA schema_version").fetchall()
        with filler.open("wb", buffering=0) as file:
            for size in (2**16, 2**10, 1):
                try:
                    while True:
                        file.write(b"0" * size)
                except OSError:
                    continue
        yield
        filler.unlink()


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """A limit on the size of files fails in the same calls as a full disk, with another error number."""
    resource = pytest.importorskip("resource", reason="this system has no limits on the size of files")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def read_only(*paths: Path) -> Iterator[None]:
    """Nobody may write these, not even root."""
    modes = {path: path.stat().st_mode for path in paths}
    with obeying_modes():
        for path, mode in modes.items():
            path.chmod(mode & ~0o222)
        try:
            yield
        finally:
            for path, mode in modes.items():
                path.chmod(mode)


@contextmanager
def obeying_modes() -> Iterator[None]:
    """This thread gives up root's right to write anything."""
    if os.name != "posix" or os.geteuid() != 0:
        yield
        return
    if sys.platform != "linux":
        pytest.skip("root may write anything here")
    libc = ctypes.CDLL(None)
    header, before = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, before) == 0
    less = (ctypes.c_uint32 * 6)(*before)
    less[0] &= ~MODE_CHECKS
    assert libc.capset(header, less) == 0
    try:
        yield
    finally:
        assert libc.capset(header, before) == 0


@contextmanager
def gone(folder: Path) -> Iterator[None]:
    """The folder is not there."""
    away = folder.with_name(folder.name + "-away")
    folder.rename(away)
    yield
    away.rename(folder)


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A folder on a disk of its own."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "none", str(folder)]
    if sys.platform != "linux" or os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root may mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


FAULTS: dict[str, Fault] = {
    "full": full,
    "locked": locked,
    "read-only file": lambda database: read_only(database, *database.parent.glob(f"{database.name}-*")),
    "read-only folder": lambda database: read_only(database.parent, *database.parent.glob(f"{database.name}*")),
    "gone": lambda database: gone(database.parent),
}


def integrity(database: Path) -> list[str]:
    with closing(sqlite3.connect(database)) as connection:
        return [text for (text,) in connection.execute("PRAGMA integrity_check")]
