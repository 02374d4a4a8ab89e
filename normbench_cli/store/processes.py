"""Which process does a run, and whether it is still there."""

from __future__ import annotations

import os
import socket
from datetime import datetime, timedelta

from normbench_cli.store.schema import Run

GRACE = timedelta(seconds=5)  # a run that gave a sign of life just now is left alone
SILENCE = timedelta(hours=1)  # on another machine only the sign of life can be seen, not the process


def this_process() -> dict[str, str | int | float]:
    """The columns of a run that say who does it."""
    import psutil

    return {"host": socket.gethostname(), "pid": os.getpid(), "process_started": psutil.Process().create_time()}


def is_gone(run: Run, moment: datetime, grace: timedelta = GRACE) -> bool:
    """Whether a running run's process has ended without a word."""
    silent = moment - run.heartbeat_at
    if run.host != socket.gethostname():
        return silent > SILENCE
    return silent > grace and not is_alive(run.pid, run.process_started)


def is_alive(pid: int, started: float) -> bool:
    """Whether the process is there; another one that was given its number later is not it."""
    import psutil

    try:
        process = psutil.Process(pid)
        return abs(process.create_time() - started) < 1 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.AccessDenied:
        return True
    except psutil.NoSuchProcess:
        return False
