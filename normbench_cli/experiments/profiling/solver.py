"""`normbench profile --solver`: the error of the generalized geometric median against passes over the data and time."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor

from normbench_cli import build, paths
from normbench_cli.build.solvers import SOLVERS, Estimate, median_after
from normbench_cli.config import make_config
from normbench_cli.device import pick_device
from normbench_cli.errors import UsageError
from normbench_cli.experiments.environment import environment
from normbench_cli.experiments.lifecycle import Heartbeat, recording_outcome
from normbench_cli.experiments.profiling.plan import resolved_for_layers
from normbench_cli.experiments.profiling.record import begin_contender
from normbench_cli.experiments.profiling.solver_rows import Row, SolverPoint, point_rows
from normbench_cli.experiments.profiling.threads import thread_facts
from normbench_cli.measure.data_families import CHANNELS, VALUES, data_families
from normbench_cli.measure.exact_median import error_in_sd, exact_median
from normbench_cli.measure.timing import sample_ms
from normbench_cli.registry.trust import USER
from normbench_cli.store import Store

__all__ = ["CHANNELS", "PHIS", "VALUES", "SolverPlan", "plan_solver", "run_solver"]
PHIS = (1.2, 1.5, 3.0)
PASSES = (1, 2, 3, 4, 6, 8, 16, 32)
ENOUGH = 80  # passes, for an initial guess in float64
FEWEST_ROUNDS = 3


@dataclass(frozen=True)
class SolverPlan:
    """Every solver with every phi on all data.

    data: tensors (values, channels) by name.  rounds: of timing; fewer once `seconds` are over, but at least three.
    """

    data: Mapping[str, Tensor]
    phis: Sequence[float]
    configs: Mapping[tuple[float, str], build.ResolvedConfig]  # by phi and solver
    device: torch.device
    rounds: int
    seconds: float

    @property
    def places(self) -> int:
        return len(self.data) * len(self.phis)

    @property
    def identity(self) -> list[Any]:
        """The part of a profile's fingerprint that the configurations do not cover."""
        return ["solver", {name: list(x.shape) for name, x in self.data.items()}, list(PASSES)]


def plan_solver(
    phis: Sequence[float] = PHIS,
    *,
    settings: Mapping[str, Any] | None = None,
    data: Mapping[str, Tensor] | None = None,
    shape: tuple[int, ...] = (VALUES, CHANNELS),
    rounds: int = 20,
    seconds: float = 60.0,
) -> SolverPlan:
    """Return a checked plan.  data: tensors (values, channels); by default the families of `measure/data_families.py`,
    in this shape."""
    if len(shape) != 2:
        raise UsageError(f"--shape {'x'.join(map(str, shape))} is not values x channels", "write 8192x64 with --solver")
    for phi in phis:
        if not 1 < phi <= 16:
            raise UsageError(
                f"--phi {phi:g} is not above 1 and at most 16", "the median and the mid-range need no search"
            )
    configs = {(phi, solver): config_of(phi, solver, settings or {}) for phi, solver in product(phis, SOLVERS)}
    device = pick_device(next(iter(configs.values())).device)
    tensors = data_families(*shape) if data is None else data
    on_device = {
        name: x.to(device, x.dtype if x.dtype == torch.float64 else torch.float32) for name, x in tensors.items()
    }
    return SolverPlan(on_device, tuple(phis), configs, device, rounds, seconds)


def config_of(phi: float, solver: str, settings: Mapping[str, Any]) -> build.ResolvedConfig:
    """The configuration to record: the layer with this solver."""
    name = solver if solver == "safe" else f"{solver}:iterations={PASSES[-1]}"
    return resolved_for_layers(make_config({**settings, "norm": f"augnorm:phi={phi:g},solver={name}"}, USER))


def run_solver(
    plan: SolverPlan, store: Store, show: Callable[[list[Row]], object] = lambda rows: None
) -> dict[str, Any]:
    """Measure everything, record every raw sample, and return environment, results and what could not be saved.

    show: called with the rows of each data set and phi as soon as they are measured.
    """
    paths.set_compile_cache()
    facts = environment(plan.device) | thread_facts()
    results: list[Row] = []
    with recording_outcome(store, lambda run_id: "a profile is not continued: give the command again") as begun:
        run_ids = {
            key: begun.begin(partial(begin_contender, config, plan, store, facts))
            for key, config in plan.configs.items()
        }
        heartbeat = Heartbeat(store, *run_ids.values())
        time_left, places = plan.seconds, plan.places
        for number, (name, phi) in enumerate(product(plan.data, plan.phis)):
            started, share = time.monotonic(), time_left / (places - number)
            found = measure_solvers(plan.data[name], phi, plan, share, heartbeat.beat)
            time_left -= min(time.monotonic() - started, share)
            for solver, points in found.items():
                record_points(store, run_ids[phi, solver], name, points)
            heartbeat.recorded()
            rows = point_rows(found, name, phi, plan.data[name])
            show(rows)
            results += rows
        for run_id in run_ids.values():
            store.end(run_id, "finished")
    store.flush()
    lost = [sentence for run_id in run_ids.values() if (sentence := store.lost(run_id))]
    return {"environment": facts, "results": results, "lost": lost}


def measure_solvers(
    x: Tensor, phi: float, plan: SolverPlan, seconds: float, beat: Callable[[], object]
) -> dict[str, list[SolverPoint]]:
    """Measure errors and times of both solvers after each number of passes; rounds are interleaved in random order."""
    started = time.monotonic()
    exact = exact_median(x, phi, median_after(x.double(), phi, "safe", ENOUGH).mu)
    points: dict[tuple[str, int], SolverPoint] = {}
    for solver, passes in product(SOLVERS, PASSES):
        found: Estimate = median_after(x, phi, solver, passes)
        points[solver, passes] = SolverPoint(passes, error_in_sd(found.mu, exact, x).tolist(), found.passes.tolist())
        beat()
    order, rng = list(points), random.Random(0)
    for done in range(plan.rounds):
        if done >= FEWEST_ROUNDS and time.monotonic() - started > seconds:
            break
        rng.shuffle(order)
        for solver, passes in order:
            work = partial(median_after, x, phi, solver, passes)
            points[solver, passes].samples.append(sample_ms(work, plan.device, 1))
        beat()
    return {solver: [points[solver, passes] for passes in PASSES] for solver in SOLVERS}


def record_points(store: Store, run_id: str, name: str, points: Sequence[SolverPoint]) -> None:
    for point in points:
        at = f"{name}+passes={point.passes}"
        store.record(run_id, {f"solver/error@{at}": point.largest}, series={f"solver/time_ms@{at}": point.samples})
