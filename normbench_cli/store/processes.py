"""The process of a run: its identity, and whether it still exists."""

from __future__ import annotations

import os
import socket
import sys
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    import psutil

    from normbench_cli.store.reading import AnyRow
    from normbench_cli.store.schema import Run

GRACE = timedelta(seconds=5)  # a run with a more recent heartbeat counts as alive
SILENCE = timedelta(minutes=20)  # processes on other hosts cannot be seen: gone after so long without heartbeat


class Process(TypedDict):
    """The columns of a run that identify its process."""

    host: str
    pid: int
    process_started: float


def this_process() -> Process:
    import psutil

    return {"host": socket.gethostname(), "pid": os.getpid(), "process_started": start_of(psutil.Process())}


def start_of(process: psutil.Process) -> float:
    """The start time of a process in seconds, on Linux since boot, because the reported time of day changes whenever
    the clock is set, as when a suspended machine wakes up."""
    # first, because older psutils compute create_time from it
    booted = boot_time() if sys.platform.startswith("linux") else 0.0
    return float(process.create_time() - booted)


def is_gone(run: AnyRow | Run, moment: datetime, grace: timedelta = GRACE, up: timedelta = timedelta.max) -> bool:
    """Whether the process of a running run is gone.  up: the database's uptime; it received no heartbeats before."""
    silent: timedelta = min(moment - run.heartbeat_at, up)
    if run.host != socket.gethostname():
        return silent > SILENCE
    return silent > grace and (silent > since_boot() or not is_alive(run.pid, run.process_started))


def since_boot() -> timedelta:
    return timedelta(seconds=time.time() - boot_time())


def boot_time() -> float:
    """When this machine was booted, in seconds since 1970."""
    import psutil

    return float(psutil.boot_time())


def is_alive(pid: int, started: float) -> bool:
    """Whether the process exists; another process that reuses its id does not count, nor does a damaged id."""
    import psutil

    try:
        process = psutil.Process(pid)
        starts = start_of(process), process.create_time()  # the latter was recorded by earlier versions
        return any(abs(start - started) < 1 for start in starts) and process.status() != psutil.STATUS_ZOMBIE
    except psutil.AccessDenied:
        return True
    except (psutil.NoSuchProcess, ValueError, OverflowError):
        return False
