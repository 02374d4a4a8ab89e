"""Where profiling meets the database: races between norms become results and rows."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

from normbench_cli import build, paths
from normbench_cli.config import RunConfig
from normbench_cli.device import pick_device
from normbench_cli.engine.loop import saved_bytes
from normbench_cli.engine.step import train_step
from normbench_cli.errors import UsageError
from normbench_cli.measure.solver import solver_metrics
from normbench_cli.measure.timing import Timing, calibration_spread, is_noisy, ratio, time_interleaved
from normbench_cli.measure.workloads import Workload, layer_workload
from normbench_cli.registry import NORMS
from normbench_cli.runs.environment import environment
from normbench_cli.store import Store

REFERENCES = ("none", "batchnorm")
HARDWARE = ("device_name", "device", "threads", "versions")


@dataclass(frozen=True)
class Plan:
    """What is to be profiled: one configuration with different norms, as layers of some shapes, as a model, or both."""

    configs: list[RunConfig]
    shapes: list[tuple[int, ...]]
    model: bool
    rounds: int
    precision: float | None
    seconds: float


def execute(plan: Plan, store: Store) -> dict[str, Any]:
    """Measure everything, record every raw sample, give the results."""
    paths.set_compile_cache()
    device = pick_device(plan.configs[0].device)
    plan = replace(plan, configs=[build.resolve(config, trial=None) for config in plan.configs])
    for config in plan.configs:
        if plan.model and config.folds:
            raise UsageError(f"the training step of {config.model} on graphs is not profiled", "give --only layers")
    facts = environment(device)
    runs = {config.norm: begin(config, plan, store, facts) for config in plan.configs}
    results: list[dict[str, Any]] = []
    try:
        for place, subjects in subjects_of(plan):
            before = calibration_spread(device)
            timings = time_interleaved(
                {name: subject.step for name, subject in subjects.items()},
                device,
                rounds=plan.rounds,
                precision=plan.precision,
                reference="batchnorm",
                seconds=plan.seconds,
            )
            after = calibration_spread(device)
            solved = {name: solver_metrics(subject.model) for name, subject in subjects.items()}
            record(store, runs, place, subjects, timings, solved)
            shared = {**place, "dtype": "float32", "amp": plan.configs[0].amp, "device": device.type}
            results += compare_all(subjects, timings, shared, before, after)
            results += [
                plain_result(name, metric, value, shared)
                for name, metrics in solved.items()
                for metric, value in metrics.items()
            ]
    except BaseException as error:
        state = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        for run_id in runs.values():
            store.end(run_id, state, f"{type(error).__name__}: {error}")
        raise
    for run_id in runs.values():
        store.end(run_id, "finished")
    return {"environment": facts, "results": results}


def begin(config: RunConfig, plan: Plan, store: Store, facts: dict[str, Any]) -> str:
    """A row for a contender; what it ran on is part of a profile's identity."""
    identity = [config.fingerprint(), plan.shapes, plan.model, {key: facts[key] for key in HARDWARE}]
    fingerprint = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
    return store.begin(config.to_dict(), fingerprint, facts, kind="profile", argv=sys.argv[1:])


def subjects_of(plan: Plan) -> Any:
    """Place after place, the contenders that can be measured there."""
    device = pick_device(plan.configs[0].device)
    for shape in plan.shapes:
        layers = {}
        for config in plan.configs:
            if NORMS.parse_norm(config.norm).weight_norms:
                continue  # norms of weights are no layers of their own; the whole model shows what they cost
            layer = NORMS.build(config.norm, num_features=shape[1])
            layers[config.norm] = layer_workload(
                layer, shape, device, amp=config.amp, channels_last=bool(config.channels_last)
            )
        yield {"shape": "x".join(map(str, shape))}, layers
    if plan.model:
        yield {"model": plan.configs[0].model}, {config.norm: step_subject(config) for config in plan.configs}


def step_subject(config: RunConfig) -> Workload:
    """The training step of a whole model on the first batch of its data."""
    training = build.make_training(build.resolve(config, trial=None))
    saved = saved_bytes(training)
    batch = next(iter(training.train.epoch(1)))
    training.model.train()
    return Workload(partial(train_step, training, batch.inputs, batch.labels), saved, training.model)


def record(
    store: Store,
    runs: dict[str, str],
    place: dict[str, str],
    subjects: dict[str, Workload],
    timings: list[Timing],
    solved: dict[str, dict[str, float]],
) -> None:
    condition = next(iter(place.values()))
    for timing in timings:
        metrics = {
            f"step_time_ms@{condition}": timing.median,
            f"saved_activation_bytes@{condition}": float(subjects[timing.name].saved_bytes),
            f"warmup_steps@{condition}": float(timing.warmup),
        }
        metrics |= {f"{name}@{condition}": value for name, value in solved[timing.name].items()}
        store.record(runs[timing.name], metrics, series={f"step_time_ms@{condition}": timing.samples})


def compare_all(
    subjects: dict[str, Workload], timings: list[Timing], shared: dict[str, Any], before: float, after: float
) -> list[dict[str, Any]]:
    """A row for every contender, reference and metric."""
    by_name = {timing.name: timing for timing in timings}
    rows = []
    for timing, reference in product(timings, REFERENCES):
        names = {"contender": timing.name, "reference": reference, **shared}
        times = ratio(timing, by_name[reference])
        rows.append(
            {
                **names,
                "metric": "step_time_ms",
                "median": timing.median,
                "iqr": timing.iqr,
                "p95": timing.p95,
                "n": len(timing.samples),
                "ratio": times.median,
                "ratio_low": times.low,
                "ratio_high": times.high,
                "noisy": is_noisy(before, after, timing),
                "warmup": timing.warmup,
            }
        )
        saved, other = subjects[timing.name].saved_bytes, subjects[reference].saved_bytes
        share = saved / other if other else None
        rows.append(plain_result(timing.name, "saved_activation_bytes", saved, shared, reference, share))
    return rows


def plain_result(
    name: str,
    metric: str,
    value: float,
    shared: dict[str, Any],
    reference: str | None = None,
    share: float | None = None,
) -> dict[str, Any]:
    """A result that has no spread."""
    numbers = {"median": value, "iqr": 0, "p95": value, "n": 1}
    ratios = {"ratio": share, "ratio_low": share, "ratio_high": share, "noisy": False}
    return {"contender": name, "reference": reference, **shared, "metric": metric, **numbers, **ratios}
