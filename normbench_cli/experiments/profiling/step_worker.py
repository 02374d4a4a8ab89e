"""The process that measures the peak memory of model steps, and of layers too (`measure/peak_worker.py`)."""

from __future__ import annotations

import sys
from typing import Any

from normbench_cli.build import ResolvedConfig
from normbench_cli.build.resolution import with_choices
from normbench_cli.config import make_config
from normbench_cli.experiments.profiling.steps import Place, step_workload
from normbench_cli.measure.peak_worker import layer_of, main
from normbench_cli.measure.timing import Work
from normbench_cli.registry.trust import USER

STEP_WORKER = "normbench_cli.experiments.profiling.step_worker"


def step_job(config: ResolvedConfig, place: Place) -> dict[str, Any]:
    """The job message for a contender's step."""
    return {"config": config.to_dict(), "step": place.step, "start": place.start}


def work_of(job: dict[str, Any]) -> Work:
    if "config" not in job:
        return layer_of(job)
    config = with_choices(make_config(job["config"], USER))  # the requester has checked it
    return step_workload(config, job["step"], job["start"]).step


if __name__ == "__main__":
    main(sys.argv[1:], work_of)
