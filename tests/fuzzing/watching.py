"""What a command does besides printing: where it writes, and whether it ends.

Python tells an audit hook of every file that it opens; a write outside of the places that are allowed is refused, as
if the user might not write there, and noted.  A hook cannot be removed, so there is one, which mostly does nothing.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn
from urllib.parse import unquote

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGING = {
    "os.mkdir": 0,
    "os.remove": 0,
    "os.rmdir": 0,
    "os.rename": 1,
    "os.link": 1,
    "os.symlink": 1,
    "os.truncate": 0,
}
IGNORED = ("/dev/", "/proc/")
CPU_SECONDS, SECONDS = 20.0, 150.0  # a wait for a lock ends after 30 s


class TooLong(BaseException):
    """A command did not end."""


class Writes:
    """The allowed places, and what was written outside of them."""

    def __init__(self) -> None:
        self.active = self.added = False
        self.allowed: Sequence[str] = ()
        self.tolerated: Sequence[str] = ()
        self.outside: list[str] = []

    def hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.active:
            return
        if event == "open":
            path, mode, flags = args
            if not (flags or 0) & WRITING and not set(mode or "") & set("wax+"):
                return
        elif event in ("os.remove", "os.rmdir") and args[1] != -1:
            return  # by its name in an open folder
        elif event == "os.mkdir" and os.path.isdir(args[0]):  # noqa: PTH112  which changes nothing
            return
        elif event in CHANGING:
            path = args[CHANGING[event]]
        elif event == "sqlite3.connect" and "mode=rwc" in str(args[0]):
            path = unquote(str(args[0]).removeprefix("file://").partition("?")[0])
        else:
            return
        if isinstance(path, str | bytes | os.PathLike):
            self.check(os.fsdecode(path))

    def check(self, path: str) -> None:
        """Refuse a write outside; one that the command line has asked for is not noted."""
        place = os.path.realpath(path)
        if place.startswith((*self.allowed, *IGNORED)) or "__pycache__" in place:
            return
        if not place.startswith(tuple(self.tolerated)):
            self.outside.append(place)
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)


WRITES = Writes()


@contextmanager
def watched(allowed: Sequence[Path], named: Sequence[Path]) -> Iterator[list[str]]:
    """Note what is written outside of the allowed places, and refuse it.

    named: places that the command line or the environment names; elsewhere on this machine they are refused, too, but
    asking for them is no fault.
    """
    if not WRITES.added:
        sys.addaudithook(WRITES.hook)
        WRITES.added = True
    WRITES.allowed = [os.path.realpath(place) for place in allowed]
    WRITES.tolerated = [os.path.realpath(place) for place in named]
    WRITES.outside, WRITES.active = [], True
    try:
        yield WRITES.outside
    finally:
        WRITES.active = False


@contextmanager
def limited(cpu_seconds: float = CPU_SECONDS, seconds: float = SECONDS) -> Iterator[None]:
    """Raise TooLong where a block takes more time of the processor, or by the clock."""
    timers = ((signal.SIGPROF, signal.ITIMER_PROF, cpu_seconds), (signal.SIGALRM, signal.ITIMER_REAL, seconds))
    before = {number: signal.signal(number, too_long) for number, _, _ in timers}
    try:
        for _, timer, limit in timers:
            signal.setitimer(timer, limit)
        yield
    finally:
        for number, timer, _ in timers:
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])


def too_long(number: int, frame: FrameType | None) -> NoReturn:
    raise TooLong(f"no end after {CPU_SECONDS if number == signal.SIGPROF else SECONDS:.0f} s")
