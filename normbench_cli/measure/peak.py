"""The peak memory of layers and other workloads on a CPU, each measured in its own process.

Importing torch takes seconds, so one process imports it and forks for each measurement.  Requests and responses are
lines of JSON: this is the client, `peak_worker.py` the server.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import torch

from normbench_cli.measure.cases import LayerCase
from normbench_cli.measure.failures import Status
from normbench_cli.measure.resident import RETURN_AT_ONCE, STATUS

WORKER = "normbench_cli.measure.peak_worker"
CAN_MEASURE = STATUS.exists() and hasattr(os, "fork")
COMPILER = ("torch._inductor.compile_fx", "torch.utils.cpp_extension")  # imported when a compiled layer is called


@dataclass(frozen=True)
class Peak:
    """bytes: increase over the process's memory before the step; None if it could not be measured."""

    bytes: int | None
    status: Status = "ok"
    message: str = ""


def layer_job(norm: str, case: LayerCase, values: Path | None = None) -> dict[str, Any]:
    """The request for a layer.  values: a file with the `values` argument of `LayerData.make`."""
    return {"norm": norm, "case": case.to_dict(), "call": case.call, "values": str(values or "")}


class PeakProcess:
    """Measures peak memory; a context manager, whose process starts with `start` or the first measurement.

    worker: the worker's module; the default one measures layers only.
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

    def measure(self, norm: str, case: LayerCase) -> Peak:
        """The peak memory of one step of the layer of this spec."""
        return self.ask(layer_job(norm, case))

    def ask(self, job: dict[str, Any]) -> Peak:
        """The peak memory of the job's workload."""
        self.send(job)
        return self.receive()

    def send(self, job: dict[str, Any]) -> None:
        """Send a request without waiting: the worker measures while this process does something else."""
        if not CAN_MEASURE:
            return
        job = {**job, "threads": torch.get_num_threads(), "path": sys.path}
        stdin = self.start().stdin
        assert stdin
        with suppress(BrokenPipeError):
            stdin.write(json.dumps(job) + "\n")
            stdin.flush()

    def receive(self) -> Peak:
        """Wait for the response to the oldest pending job."""
        if not CAN_MEASURE:
            return Peak(None)
        line = self._process.stdout.readline() if self._process and self._process.stdout else ""
        if not line:
            self.__exit__(None, None, None)
            return Peak(None, "failed", "the process that measures memory ended")
        return Peak(**json.loads(line))

    def start(self) -> subprocess.Popen[str]:
        """Start the process, which imports torch while this one does something else.

        It has its own session, so that Ctrl-C interrupts the command first.
        """
        self._process = self._process or subprocess.Popen(
            [sys.executable, "-m", self._worker, *COMPILER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **RETURN_AT_ONCE, "TORCHINDUCTOR_COMPILE_THREADS": "1"},
            start_new_session=True,
        )
        return self._process
