"""One comparison: the contenders at one place, timed against each other."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import nn

from normbench_cli.experiments.profiling.plan import ProfilePlan
from normbench_cli.experiments.profiling.roofline import Roofline
from normbench_cli.experiments.profiling.steps import Place, calling_at
from normbench_cli.experiments.profiling.workloads import Contenders, Failure, make_contenders
from normbench_cli.measure.bytes_moved import moved_bytes, working_set_bytes
from normbench_cli.measure.cases import LayerCase
from normbench_cli.measure.peak import Peak
from normbench_cli.measure.resident import peak_bytes
from normbench_cli.measure.solver import reset_solver_statistics, solver_metrics
from normbench_cli.measure.steadiness import Steadiness, is_noisy
from normbench_cli.measure.timing import Prepared, Stopped, Timing, Work, sample_ms, time_interleaved, why_stopped

REFERENCE = "batchnorm"  # the precision is required of ratios to this one


class WorkFailed(Exception):
    """The work of one contender raised an error while it was timed."""

    def __init__(self, name: str, error: Exception) -> None:
        super().__init__(f"{name}: {error}")
        self.name, self.error = name, error


@dataclass
class Measured:
    """The measurements at one place, by norm.

    moved: bytes that it must move.  least_ms: the least time for them.  calibration: times of a fixed workload before,
    between and after the rounds.  calibrations: only those of the rounds.
    """

    place: Place
    timings: dict[str, Timing] = field(default_factory=dict)
    noisy: dict[str, bool] = field(default_factory=dict)
    saved: dict[str, int] = field(default_factory=dict)
    solver: dict[str, Mapping[str, float]] = field(default_factory=dict)
    peaks: dict[str, Peak] = field(default_factory=dict)
    moved: dict[str, int] = field(default_factory=dict)
    least_ms: float | None = None
    calibration: list[float] = field(default_factory=list)
    calibrations: list[float] = field(default_factory=list)
    stopped: Stopped = "rounds"
    failures: dict[str, Failure] = field(default_factory=dict)

    def limit_fraction(self, norm: str) -> float | None:
        """The least time divided by the measured time; None for a norm that need not move anything."""
        if self.least_ms is None or not self.moved.get(norm):
            return None
        return self.least_ms / self.timings[norm].median


def measure_place(
    plan: ProfilePlan,
    place: Place,
    end: float,
    beat: Callable[[], object],
    roofline: Roofline,
    peaks: Mapping[str, Peak] | None,
) -> Measured:
    """end: of further rounds, by the monotonic clock.  beat: called between samples, where it disturbs no measurement.
    peaks: those measured by another process, if any."""
    found = Measured(place)
    with calling_at(place):
        contenders = make_contenders(plan, place)
        if peaks is None:
            peaks = accelerator_peaks(plan, contenders) if plan.memory else {}
        time_contenders(plan, contenders, found, end - time.monotonic(), beat)
        found.peaks = {name: peak for name, peak in peaks.items() if name in contenders.workloads}
    found.failures = contenders.failures
    if place.case:
        find_limit(place.case, contenders, found, roofline)
    return found


def time_contenders(
    plan: ProfilePlan, contenders: Contenders, found: Measured, seconds: float, beat: Callable[[], object]
) -> None:
    """Time the contenders; one that fails meanwhile drops out, and the others are timed again."""

    def sample(work: Work, device: torch.device, repeats: int) -> float:
        beat()
        return sample_ms(work, device, repeats)

    while contenders.workloads:
        steadiness = Steadiness.begin(plan.device)
        reference = REFERENCE if REFERENCE in contenders.workloads else next(iter(contenders.workloads))
        for workload in contenders.workloads.values():
            reset_solver_statistics(workload.model)
        try:
            timings = time_interleaved(
                {name: named(name, workload.step) for name, workload in contenders.workloads.items()},
                plan.device,
                rounds=plan.rounds,
                precision=plan.precision,
                reference=reference,
                seconds=seconds,
                sampler=sample,
                between=steadiness.after_round,
            )
        except WorkFailed as failed:
            contenders.fail(failed.name, failed.error)
            continue
        steadiness.end()
        found.timings = {timing.name: timing for timing in timings}
        found.noisy = {timing.name: is_noisy(steadiness, timing) for timing in timings}
        found.saved = {name: workload.saved_bytes for name, workload in contenders.workloads.items()}
        found.solver = {name: search_metrics(workload.model) for name, workload in contenders.workloads.items()}
        found.calibration, found.calibrations = steadiness.samples, steadiness.between
        found.stopped = why_stopped(timings, found.timings[reference], plan.precision)
        return


def search_metrics(model: nn.Module) -> dict[str, float]:
    """The solver's metrics; empty if it did not run, as in evaluation."""
    metrics = solver_metrics(model)
    return metrics if metrics.get("solver/iterations_max") else {}


def named(name: str, work: Work) -> Work:
    """The work, with its errors wrapped in `WorkFailed`, which names the contender."""
    if isinstance(work, Prepared):
        return Prepared(named(name, work.work), named(name, work.prepare))

    def call() -> None:
        try:
            work()
        except Exception as error:
            raise WorkFailed(name, error) from error

    return call


def accelerator_peaks(plan: ProfilePlan, contenders: Contenders) -> dict[str, Peak]:
    """The peak memory on an accelerator, from the allocator's statistics."""
    return {name: Peak(peak_bytes(each.step, plan.device)) for name, each in contenders.workloads.items()}


def find_limit(case: LayerCase, contenders: Contenders, found: Measured, roofline: Roofline) -> None:
    """Set the bytes that must be moved and the least time for them; measure it again if a layer is faster."""
    moved, working_set = moved_bytes(case), working_set_bytes(case)
    found.moved = {name: 0 if each.does_nothing else moved for name, each in contenders.workloads.items()}
    working = [timing.median for name, timing in found.timings.items() if found.moved[name]]
    if working:
        found.least_ms = roofline.least_ms(moved, working_set)
        if found.least_ms is not None and found.least_ms > min(working):
            found.least_ms = roofline.least_ms_again(moved, working_set)
