"""The process of a run: which one it is, and whether it still exists."""

from __future__ import annotations

import os
import socket
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from normbench_cli.store.reading import AnyRow
    from normbench_cli.store.schema import Run

GRACE = timedelta(seconds=5)  # a run with a heartbeat this recent is not examined
SILENCE = timedelta(minutes=20)  # a process on another host cannot be seen: it counts as gone after this much silence


class Process(TypedDict):
    """The columns of a run that identify its process."""

    host: str
    pid: int
    process_started: float


def this_process() -> Process:
    import psutil

    return {"host": socket.gethostname(), "pid": os.getpid(), "process_started": psutil.Process().create_time()}


def is_gone(run: AnyRow | Run, moment: datetime, grace: timedelta = GRACE, up: timedelta = timedelta.max) -> bool:
    """Whether the process of a running run has disappeared.  up: a database that was down has heard nobody before."""
    silent: timedelta = min(moment - run.heartbeat_at, up)
    if run.host != socket.gethostname():
        return silent > SILENCE
    return silent > grace and not is_alive(run.pid, run.process_started)


def is_alive(pid: int, started: float) -> bool:
    """Whether the process exists; a later process that reuses its id does not count, and no damaged id does."""
    import psutil

    try:
        process = psutil.Process(pid)
        return bool(abs(process.create_time() - started) < 1 and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.AccessDenied:
        return True
    except (psutil.NoSuchProcess, ValueError, OverflowError):
        return False
