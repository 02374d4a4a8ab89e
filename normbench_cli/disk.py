"""Atomic file writes, and errors about a full disk that name the file and the number of missing bytes."""

from __future__ import annotations

import errno
import glob
import io
import os
import secrets
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from normbench_cli.errors import NormbenchError

FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
UNFINISHED = ".writing"
ABANDONED_SECONDS = 3600.0  # an unfinished file that was last written to so long ago belongs to a killed process


class DiskFull(NormbenchError):
    """A file does not fit on its disk or within a quota or limit."""


def disk_full(path: Path | str, error: OSError, missing: int = 0) -> DiskFull:
    why = error.strerror or "No space left on device"
    lacking = f" ({missing:,} bytes missing)" if missing else ""
    return DiskFull(f"{path} cannot be written: {why}{lacking}", "free space on its disk")


def full_disk_in(error: BaseException | None) -> OSError | None:
    """The full-disk error in another error's chain of causes, if there is one."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, OSError) and error.errno in FULL:
            return error
        error = error.__cause__ or error.__context__
    return None


def free_bytes(path: Path) -> int:
    """The free space on the disk of a file or folder, which need not exist yet."""
    existing = next((place for place in (path, *path.absolute().parents) if place.exists()), Path("/"))
    return shutil.disk_usage(existing).free


class CountingFile(io.RawIOBase):
    """A file that keeps counting bytes when its disk is full, to report how many are missing.

    A library that writes to it sees no error; `check` raises it at the end.
    """

    def __init__(self, file: io.RawIOBase | BinaryIO) -> None:
        self._file = file
        self.error: OSError | None = None
        self.missing = 0

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        left = memoryview(content).cast("B")
        length = len(left)
        while left and self.error is None:
            try:
                left = left[self._file.write(left) or 0 :]
            except OSError as error:
                if error.errno not in FULL:
                    raise
                self.error = error
        self.missing += len(left)
        return length

    def check(self, path: Path) -> None:
        if self.error is not None:
            raise disk_full(path, self.error, self.missing) from self.error


def write_whole(path: Path, write: Callable[[BinaryIO], object], *, sync: bool = False) -> None:
    """Write a file under a temporary name and rename it, so that the target is complete or unchanged.

    write: called with the open file.  sync: wait until the file would survive a power failure.
    """
    remove_abandoned(path)
    own = f"{os.getpid()}-{secrets.token_hex(4)}"  # another process may write the same file
    unfinished = path.with_name(f"{path.name}.{own}{UNFINISHED}")
    try:
        with unfinished.open("wb", buffering=0) as file:
            counting = CountingFile(file)
            with io.BufferedWriter(counting) as buffered:
                write(cast(BinaryIO, buffered))
            counting.check(path)
            if sync:
                os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        if error.errno in FULL:
            raise disk_full(path, error) from error
        error.filename = str(path)
        raise
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def remove_abandoned(path: Path) -> None:
    """Remove what killed processes left of their attempts to write this file."""
    with suppress(OSError):  # another process may remove them, too
        for unfinished in path.parent.glob(f"{glob.escape(path.name)}.*{UNFINISHED}"):
            if time.time() - unfinished.stat().st_mtime > ABANDONED_SECONDS:
                unfinished.unlink()


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    write_whole(path, lambda file: file.write(content))


def sync_folder(folder: Path) -> None:
    """Make a rename survive a power failure, on systems that can sync a folder."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        return
    finally:
        os.close(handle)
