"""The process behind `PeakProcess`: for each job, a line of JSON, it forks a child that measures the peak memory.

    python -m normbench_cli.measure.peak_worker [module to import first ...]

It computes nothing itself: a process that has started threads must not be forked.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

import torch

from normbench_cli.measure.cases import LayerCase, calling
from normbench_cli.measure.failures import status_of
from normbench_cli.measure.resident import peak_bytes
from normbench_cli.measure.timing import Work
from normbench_cli.measure.workloads import LayerData, layer_workload
from normbench_cli.registry import NORMS

Make: TypeAlias = Callable[[dict[str, Any]], Work]
KILLED_FOR_MEMORY = -signal.SIGKILL  # by Linux when no memory is left


def main(modules: list[str], make: Make | None = None) -> None:
    """Serve jobs until the end of standard input.  Output that a layer prints goes to standard error.

    make: turns a job into the workload to measure; by default that of a layer.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for module in modules:
        import_module(module)
    for line in sys.stdin:
        answers.write(json.dumps(measure_in_fork(json.loads(line), make or layer_of)) + "\n")
        answers.flush()


def measure_in_fork(job: dict[str, Any], make: Make) -> dict[str, Any]:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            with os.fdopen(writer, "w") as out:
                out.write(json.dumps(measure(job, make)))
        except BaseException:
            traceback.print_exc()
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if text:
        found: dict[str, Any] = json.loads(text)
        return found
    status = "oom" if ended == KILLED_FOR_MEMORY else "failed"
    return {"bytes": None, "status": status, "message": f"the process ended with {ended}"}


def measure(job: dict[str, Any], make: Make) -> dict[str, Any]:
    """In the child: make the workload and measure one call."""
    try:
        sys.path[:] = job["path"]
        torch.set_num_threads(job["threads"])
        with calling(job.get("call", "layer")):
            return {"bytes": peak_bytes(make(job), torch.device("cpu"))}
    except Exception as error:
        status, message = status_of(error)
        return {"bytes": None, "status": status, "message": message}


def layer_of(job: dict[str, Any]) -> Work:
    """A step of a layer, on generated data or on data from a file."""
    case, device = LayerCase.from_dict(job["case"]), torch.device("cpu")
    values = torch.load(job["values"], weights_only=True) if job.get("values") else None
    layer = NORMS.build(job["norm"], num_features=case.shape[1])
    return layer_workload(layer, case, device, LayerData.make(case, device, values)).step


if __name__ == "__main__":
    main(sys.argv[1:])
