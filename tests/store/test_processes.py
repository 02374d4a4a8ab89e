"""When a process counts as gone, at the edges of each limit."""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime, timedelta
from unittest.mock import Mock

import psutil
import pytest

from normbench_cli.store import processes
from normbench_cli.store.processes import GRACE, SILENCE, is_alive, is_gone, this_process
from normbench_cli.store.schema import Run

MOMENT = datetime(2026, 1, 2, tzinfo=UTC)
TICK = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("host", "alive", "silent", "gone"),
    [
        ("here", False, GRACE, False),
        ("here", False, GRACE + TICK, True),
        ("here", True, GRACE + TICK, False),
        ("here", True, SILENCE + TICK, False),
        ("elsewhere", False, SILENCE, False),
        ("elsewhere", True, SILENCE + TICK, True),
    ],
)
def test_the_limits_of_silence(
    monkeypatch: pytest.MonkeyPatch, host: str, alive: bool, silent: timedelta, gone: bool
) -> None:
    monkeypatch.setattr(processes, "is_alive", lambda pid, started: alive)
    monkeypatch.setattr(processes, "since_boot", lambda: 2 * SILENCE)
    name = socket.gethostname() if host == "here" else host
    assert is_gone(Run(host=name, pid=1, process_started=0.0, heartbeat_at=MOMENT - silent), MOMENT) == gone


@pytest.mark.parametrize(
    ("later", "status", "alive"),
    [
        (0.0, "running", True),
        (0.9, "sleeping", True),
        (-0.9, "running", True),
        (1.1, "running", False),
        (-1.1, "running", False),
        (0.0, psutil.STATUS_ZOMBIE, False),
    ],
)
def test_a_process_is_known_by_its_start_and_a_zombie_is_not_alive(
    monkeypatch: pytest.MonkeyPatch, later: float, status: str, alive: bool
) -> None:
    process = Mock(create_time=lambda: 5000.0 + later, status=lambda: status)
    monkeypatch.setattr(psutil, "Process", lambda pid: process)
    monkeypatch.setattr(psutil, "boot_time", lambda: 4000.0 if psutil.LINUX else 0.0)
    began = 1000.0 if psutil.LINUX else 5000.0
    assert is_alive(1, began) == alive


@pytest.mark.parametrize(("error", "alive"), [(psutil.AccessDenied(1), True), (psutil.NoSuchProcess(1), False)])
def test_a_process_that_may_not_be_examined_counts_as_alive(
    monkeypatch: pytest.MonkeyPatch, error: psutil.Error, alive: bool
) -> None:
    monkeypatch.setattr(psutil, "Process", Mock(side_effect=error))
    assert is_alive(1, 0.0) == alive


def test_a_process_stays_alive_when_the_clock_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """A virtual machine that was suspended for 24 seconds: the kernel then says that it was booted 24 seconds later."""
    found, (created, booted) = this_process(), (psutil.Process().create_time(), psutil.boot_time())
    monkeypatch.setattr(psutil.Process, "create_time", lambda self: created + 24)
    monkeypatch.setattr(psutil, "boot_time", lambda: booted + 24 if psutil.LINUX else booted)
    assert is_alive(found["pid"], found["process_started"]) == psutil.LINUX


def test_no_process_outlives_its_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a restart another process may have the same id, and the same age of the machine at its start."""
    monkeypatch.setattr(processes, "since_boot", lambda: timedelta(minutes=2))
    run = Run(**this_process(), heartbeat_at=MOMENT - timedelta(minutes=3))
    assert is_gone(run, MOMENT)
    monkeypatch.setattr(processes, "since_boot", lambda: timedelta(minutes=4))
    assert not is_gone(run, MOMENT)


def test_this_process_is_alive() -> None:
    found = this_process()
    assert found == {"host": socket.gethostname(), "pid": os.getpid(), "process_started": found["process_started"]}
    assert is_alive(os.getpid(), float(found["process_started"]))
