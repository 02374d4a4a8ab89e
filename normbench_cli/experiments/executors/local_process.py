"""A process that runs tasks, seen from outside."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress

from normbench_cli.errors import NormbenchError
from normbench_cli.experiments.executors.frames import read_frame, write_frame
from normbench_cli.experiments.executors.preparation import Preparation
from normbench_cli.experiments.executors.protocol import Outcome, Task

START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from normbench_cli.experiments.executors.local_worker import main; main()"
)


class LostWorker(NormbenchError):
    """A process ended before it finished its task.  The message says how."""


class WorkerProcess:
    """A process with the same code and module search path as this one.  It ends with this process."""

    def __init__(self, variables: Mapping[str, str], preparation: Preparation) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", START, json.dumps(sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env={**os.environ, **variables},
                start_new_session=True,  # Ctrl-C reaches the launcher, which stops its workers
            )
        except OSError:
            self._errors.close()
            raise
        with suppress(OSError):  # it has already ended, which its first task will report
            self._write(preparation)

    def run(self, task: Task) -> Outcome:
        """Run a task.  Raises `LostWorker` if the process ends before it answers."""
        assert self._process.stdout is not None
        try:
            self._write(task)
            outcome: Outcome = pickle.loads(read_frame(self._process.stdout))
        except (EOFError, OSError):
            raise LostWorker(self._how_it_ended()) from None
        return outcome

    def _write(self, message: Preparation | Task) -> None:
        assert self._process.stdin is not None
        write_frame(self._process.stdin, pickle.dumps(message))

    def _how_it_ended(self) -> str:
        """End the process; return how it ended, with the last line that it wrote to stderr."""
        self._end()
        self._errors.seek(0)
        lines = [line for line in self._errors.read().decode(errors="replace").splitlines() if line.strip()]
        self._errors.close()
        code = self._process.returncode
        how = f"killed by signal {-code}" if code < 0 else f"ended with code {code}"
        return f"process {self._process.pid} {how}" + (f": {lines[-1].strip()}" if lines else "")

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._end()
        self._errors.close()

    def _end(self) -> None:
        """End the process if it is still running, and close its pipes."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0.1)  # its pipes close a moment before it exits
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()
