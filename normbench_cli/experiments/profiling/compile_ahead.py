"""On a CPU, compile all kernels before anything is timed, in two processes: this one, and the one that measures peak
memory.  Each finds on disk what the other has compiled."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import torch

from normbench_cli.experiments.profiling.plan import ProfilePlan, places
from normbench_cli.experiments.profiling.step_worker import step_job
from normbench_cli.experiments.profiling.steps import Place, calling_at
from normbench_cli.experiments.profiling.workloads import make_contenders, values_at
from normbench_cli.measure.peak import Peak, PeakProcess, layer_job

QUEUED = 64  # maximum number of waiting jobs: many more would fill the pipes and deadlock both processes


def compile_and_find_peaks(plan: ProfilePlan, peaks: PeakProcess, beat: Callable[[], object]) -> list[dict[str, Peak]]:
    """Return the peak memory of the contenders, by place.

    This process compiles the first half of the places, while the other one measures, and thereby compiles, the second
    half, from the end.  Both compile a place in the middle, beginning with different contenders.
    """
    numbered = list(enumerate(places(plan)))
    half, odd = divmod(len(numbered), 2)
    queue = numbered[half:][::-1][: QUEUED // len(plan.configs)]
    found: dict[int, dict[str, Peak]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _, place in queue:
            ask_for_peaks(plan, place, peaks, Path(folder))
        for _, place in numbered[: half + odd]:
            beat()
            compile_place(plan, place)
        for number, _ in queue:
            found[number] = answered_peaks(plan, peaks, beat)
        for number, place in numbered:
            if number not in found:
                ask_for_peaks(plan, place, peaks, Path(folder))
                found[number] = answered_peaks(plan, peaks, beat)
    return [found[number] for number, _ in numbered]


def compile_place(plan: ProfilePlan, place: Place) -> None:
    """Run a step of each contender, which compiles its kernels, including those of the backward pass."""
    with calling_at(place):
        for workload in make_contenders(plan, place).workloads.values():
            with suppress(Exception):  # it is raised again, and recorded, when the contender is timed
                workload.step()


def ask_for_peaks(plan: ProfilePlan, place: Place, peaks: PeakProcess, folder: Path) -> None:
    """Request the peak memory of each contender, which is measured in a process of its own."""
    values, path = values_at(plan, place.case) if place.case else None, None
    if values is not None and place.case is not None:
        path = folder / f"values-{'x'.join(map(str, place.case.shape))}.pt"
        torch.save(values, path)
    for config in reversed(plan.configs):
        job = layer_job(config.norm, place.case, path) if place.case else step_job(config, place)
        peaks.send(job)


def answered_peaks(plan: ProfilePlan, peaks: PeakProcess, beat: Callable[[], object]) -> dict[str, Peak]:
    found = {}
    for config in reversed(plan.configs):
        beat()
        found[config.norm] = peaks.receive()
    return {config.norm: found[config.norm] for config in plan.configs}
