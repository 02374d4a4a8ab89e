"""Measuring a cell in a process of its own: it is watched, and stopped when its time is over."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from normbench_cli.errors import NormbenchError
from normbench_cli.nightly.cell import NightlyCell, cell_json

LOOK_SECONDS = 15.0  # between two signs of life of the night
GOODBYE_SECONDS = 20.0  # in which a process that is stopped records how its run ended
START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from normbench_cli.nightly.cells import main; main()"
Beat = Callable[[], object]


class CellFailed(NormbenchError):
    """A cell could not be measured."""


class OutOfTime(CellFailed):
    """A cell was stopped because its time was over."""


@dataclass(frozen=True)
class Measured:
    """What a cell measured, the run in which it did, and the seconds that all of it took.  elsewhere: on a machine that
    another process chose, whose facts are those of the run."""

    values: dict[str, float]
    run_id: str | None = None
    seconds: float = field(default=0.0, compare=False)
    elsewhere: bool = field(default=False, compare=False)


# (cell, database, source of its specs, seconds, sign of life) -> Measured: `measure_in_process`, or one for tests
Measure = Callable[[NightlyCell, str | None, str, float, Beat], Measured]


def measure_in_process(cell: NightlyCell, db: str | None, source: str, limit: float, beat: Beat) -> Measured:
    """Measure a cell in a new process.  beat: called every 15 seconds.  limit: seconds until it is stopped."""
    began = time.monotonic()
    process = subprocess.Popen(
        words(),
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


def words() -> list[str]:
    """How a cell's process is started: with the same code as this one, wherever that was found."""
    return [sys.executable, "-c", START, json.dumps(sys.path)]


def wait(process: subprocess.Popen[str], end: float, beat: Beat) -> tuple[str, str]:
    """What the process prints.  Raises `TimeoutExpired` if it is not done in time."""
    stdin, process.stdin = process.stdin, None  # `communicate` would close it, by which the process would end
    try:
        while True:
            left = end - time.monotonic()
            try:
                return process.communicate(timeout=max(0.01, min(LOOK_SECONDS, left)))
            except subprocess.TimeoutExpired:
                if left <= LOOK_SECONDS:
                    raise
                beat()
    finally:
        process.stdin = stdin


def stop(process: subprocess.Popen[str]) -> None:
    """End the process if it has not ended: it may record how its run ended."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(GOODBYE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
