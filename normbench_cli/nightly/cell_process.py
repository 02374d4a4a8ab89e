"""Measuring a cell in its own process, which is watched and stopped at its time limit."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from normbench_cli.errors import NormbenchError
from normbench_cli.nightly.cell import NightlyCell, cell_json

HEARTBEAT_SECONDS = 15.0  # between two heartbeats of the night
STOP_SECONDS = 20.0  # for a stopped process to record how its run ended
START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from normbench_cli.nightly.cells import main; main()"
Beat = Callable[[], object]


class CellFailed(NormbenchError):
    """A cell could not be measured."""


class OutOfTime(CellFailed):
    """A cell was stopped at its time limit."""


@dataclass(frozen=True)
class Measured:
    """The values of a cell, the run that measured them, and the seconds it took in all.  elsewhere: on a machine that
    another process chose, described by the facts of the run."""

    values: dict[str, float]
    run_id: str | None = None
    seconds: float = field(default=0.0, compare=False)
    elsewhere: bool = field(default=False, compare=False)


# (cell, database, source of its specs, seconds, heartbeat) -> Measured: `measure_in_process`, or one for tests
Measure = Callable[[NightlyCell, str | None, str, float, Beat], Measured]


def measure_in_process(cell: NightlyCell, db: str | None, source: str, limit: float, beat: Beat) -> Measured:
    """Measure a cell in a new process.  beat: called every 15 seconds.  limit: seconds until it is stopped."""
    began = time.monotonic()
    process = subprocess.Popen(
        command(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C reaches the night, which stops its cell
    )
    try:
        assert process.stdin is not None
        process.stdin.write(json.dumps({"cell": cell_json(cell), "db": db, "source": source}) + "\n")
        process.stdin.flush()
        out, errors = wait(process, began + limit, beat)
    except subprocess.TimeoutExpired:
        raise OutOfTime(f"it was stopped after {limit:.0f} s") from None
    except BrokenPipeError:
        out, errors = "", process.communicate()[1]
    finally:
        stop(process)
    seconds = time.monotonic() - began
    if process.returncode != 0 or not out:
        lines = [line for line in errors.splitlines() if line.strip()]
        raise CellFailed(lines[-1] if lines else f"its process ended with code {process.returncode}")
    answer = json.loads(out)
    return Measured(answer["values"], answer["run_id"], seconds)


def command() -> list[str]:
    """The command of a cell's process: it uses the same code as this one, wherever that was found."""
    return [sys.executable, "-c", START, json.dumps(sys.path)]


def wait(process: subprocess.Popen[str], end: float, beat: Beat) -> tuple[str, str]:
    """The process's stdout and stderr.  Raises `TimeoutExpired` if it is not done in time."""
    stdin, process.stdin = process.stdin, None  # `communicate` would close it, which ends the process
    try:
        while True:
            left = end - time.monotonic()
            try:
                return process.communicate(timeout=max(0.01, min(HEARTBEAT_SECONDS, left)))
            except subprocess.TimeoutExpired:
                if left <= HEARTBEAT_SECONDS:
                    raise
                beat()
    finally:
        process.stdin = stdin


def stop(process: subprocess.Popen[str]) -> None:
    """Stop the process if it is still running; it may record how its run ended."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
