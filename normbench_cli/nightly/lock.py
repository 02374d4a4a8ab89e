"""One night at a time: a lock file in the home folder, which the operating system unlocks when its process ends.

Two nights on one machine would disturb each other's times, even with different databases.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO

from normbench_cli import paths
from normbench_cli.errors import NormbenchError

if sys.platform == "win32":
    import msvcrt

    def lock(file: BinaryIO) -> None:
        file.seek(2**30)  # the holder's entry stays readable
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        file.seek(0)
else:
    import fcntl

    def lock(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@dataclass(frozen=True)
class Holder:
    """The process that is measuring a night."""

    pid: int
    host: str
    suite: str
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} has been measuring {self.suite} since {self.since}"


class Locked(NormbenchError):
    """Another process is measuring a night."""

    def __init__(self, holder: Holder | None) -> None:
        super().__init__(str(holder or "another process is measuring a night"), "nothing was measured by this one")
        self.holder = holder

    def facts(self) -> dict[str, Any] | None:
        return vars(self.holder) if self.holder else None


@contextmanager
def night_lock(suite: str, now: datetime) -> Iterator[None]:
    """Hold the lock in this block, or raise `Locked`.  It is released with this process, however that ends."""
    paths.ensure_writable(paths.home(), "NORMBENCH_HOME")
    with (paths.home() / "nightly.lock").open("a+b") as file:
        try:
            lock(file)
        except OSError as error:
            raise Locked(holder_in(file)) from error
        holder = Holder(os.getpid(), socket.gethostname(), suite, f"{now:%Y-%m-%d %H:%M}")
        file.truncate(0)
        file.write(json.dumps(vars(holder)).encode())
        file.flush()
        yield
        file.truncate(0)


def holder_in(file: BinaryIO) -> Holder | None:
    """The holder of the lock; None if it is not written yet."""
    file.seek(0)
    try:
        values: dict[str, Any] = json.loads(file.read(10_000))
        return Holder(int(values["pid"]), str(values["host"]), str(values["suite"]), str(values["since"]))
    except (ValueError, TypeError, KeyError):
        return None
