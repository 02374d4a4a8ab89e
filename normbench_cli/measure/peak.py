"""The peak memory of layers on a CPU, each in a process of its own.

Loading torch takes seconds, so one process loads it and forks another for each measurement.  The two sides talk in
lines of JSON: this is the side that asks, `peak_worker.py` the one that answers.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType

import torch

from normbench_cli.measure.cases import LayerCase
from normbench_cli.measure.failures import Status
from normbench_cli.measure.resident import RETURN_AT_ONCE, STATUS

WORKER = "normbench_cli.measure.peak_worker"
COMPILER = "torch._inductor.compile_fx"


@dataclass(frozen=True)
class Peak:
    """bytes: above what the process needed before the step; None where it could not be measured."""

    bytes: int | None
    status: Status = "ok"
    message: str = ""


class PeakProcess:
    """Measures the peak memory of layers; a context manager, whose process starts with the first measurement."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> PeakProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process is None:
            return
        if self._process.stdin and self._process.stdout:
            self._process.stdin.close()
            self._process.stdout.close()
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process = None

    def measure(self, norm: str, case: LayerCase) -> Peak:
        """The peak of one step of the layer that this spec makes."""
        if not STATUS.exists() or not hasattr(os, "fork"):
            return Peak(None)
        job = {"norm": norm, "case": case.to_dict(), "threads": torch.get_num_threads(), "path": sys.path}
        process = self._process or self._start()
        assert process.stdin
        assert process.stdout
        try:
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self.__exit__(None, None, None)
            return Peak(None, "failed", "the process that measures memory ended")
        return Peak(**json.loads(line))

    def _start(self) -> subprocess.Popen[str]:
        """The process has a session of its own, so that an interrupt ends the command first."""
        compiles = COMPILER in sys.modules
        self._process = subprocess.Popen(
            [sys.executable, "-m", WORKER, *([COMPILER] if compiles else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **RETURN_AT_ONCE, "TORCHINDUCTOR_COMPILE_THREADS": "1"},
            start_new_session=True,
        )
        return self._process
