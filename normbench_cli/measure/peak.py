"""The peak memory of layers, and of other work, on a CPU, each in a process of its own.

Loading torch takes seconds, so one process loads it and forks another for each measurement.  The two sides talk in
lines of JSON: this is the side that asks, `peak_worker.py` the one that answers.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from torch import Tensor

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
    """Measures peak memory; a context manager, whose process starts with the first measurement.

    worker: the module that answers; by default one that knows layers alone.
    """

    def __init__(self, worker: str = WORKER) -> None:
        self._worker = worker
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

    def measure(self, norm: str, case: LayerCase, values: tuple[Tensor, Tensor] | None = None) -> Peak:
        """The peak of one step of the layer that this spec makes.  values: see `LayerData.make`."""
        job = {"norm": norm, "case": case.to_dict(), "call": case.call}
        if values is None:
            return self.ask(job)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "values.pt"
            torch.save(values, path)
            return self.ask({**job, "values": str(path)})

    def ask(self, job: dict[str, Any]) -> Peak:
        """The peak of the work that the worker makes of this."""
        if not STATUS.exists() or not hasattr(os, "fork"):
            return Peak(None)
        job = {**job, "threads": torch.get_num_threads(), "path": sys.path}
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
            [sys.executable, "-m", self._worker, *([COMPILER] if compiles else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **RETURN_AT_ONCE, "TORCHINDUCTOR_COMPILE_THREADS": "1"},
            start_new_session=True,
        )
        return self._process
