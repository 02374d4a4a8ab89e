"""Profiling: the time and memory of norms against each other, recorded and returned as rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from normbench_cli import build, paths
from normbench_cli.build import ResolvedConfig
from normbench_cli.config import make_config
from normbench_cli.device import pick_device
from normbench_cli.engine.loop import saved_bytes
from normbench_cli.engine.step import train_step
from normbench_cli.errors import UsageError
from normbench_cli.experiments.details import details_of
from normbench_cli.experiments.environment import environment
from normbench_cli.experiments.lifecycle import Heartbeat, begin_run, recording_outcome
from normbench_cli.experiments.profile_results import REFERENCES, Row, result_rows
from normbench_cli.measure.calibration import calibration_work
from normbench_cli.measure.solver import solver_metrics
from normbench_cli.measure.timing import Timing, Work, calibration_spread, sample_ms, time_interleaved
from normbench_cli.measure.workloads import Workload, layer_workload
from normbench_cli.registry import NORMS
from normbench_cli.registry.spec import split_list
from normbench_cli.registry.trust import USER
from normbench_cli.store import Store

if TYPE_CHECKING:
    import pandas as pd

SHAPES = ((128, 64, 32, 32), (128, 128, 16, 16), (128, 256, 8, 8), (128, 512, 4, 4))
CALIBRATION = "calibration"
HARDWARE = ("device_name", "device", "threads", "versions")  # facts that are part of a profile's identity


@dataclass(frozen=True)
class ProfilePlan:
    """What is profiled: configurations that differ in their norm, as layers of some shapes, as training steps, or both.

    rounds: each contender is timed once in each.  precision: further rounds follow until every ratio is known to this
    fraction, or until so many seconds are over.  calibrate: each round also times the calibration, a fixed piece of
    work, and rows of times say how many of its times they are (`calibrated`).
    """

    configs: tuple[ResolvedConfig, ...]
    shapes: tuple[tuple[int, ...], ...]
    model: bool
    rounds: int
    precision: float | None
    seconds: float
    calibrate: bool = False

    @property
    def device(self) -> torch.device:
        return pick_device(self.configs[0].device)


def profile(
    norms: str | Iterable[str] = "popnorm",
    shapes: Iterable[tuple[int, ...]] | None = None,
    *,
    only: str | None = None,
    rounds: int = 20,
    precision: float | None = None,
    seconds: float = 60.0,
    db: str | None = None,
    **settings: Any,
) -> pd.DataFrame:
    """Time and memory of norms against `none` and `batchnorm`: a row for each contender, reference and metric.

    shapes: of the input of a layer, (N, C, ...).  only: "layers", "model" (whole training steps) or "both"; with shapes
    given, layers alone unless it says otherwise.  rounds, precision, seconds and the settings are those of
    `normbench profile`.  The facts of code and machine are in the frame's ``attrs["environment"]``.

    >>> nb.profile(norms=["popnorm", "augnorm:phi=1.5"], shapes=[(128, 64, 32, 32)])
    """
    import pandas as pd

    plan = plan_profile(
        [spec for text in ([norms] if isinstance(norms, str) else norms) for spec in split_list(text)],
        settings=settings,
        shapes=SHAPES if shapes is None else list(shapes),
        only=only or ("both" if shapes is None else "layers"),
        rounds=rounds,
        precision=precision,
        seconds=seconds,
    )
    with Store.open(db) as store:
        found = run_profile(plan, store)
    frame = pd.DataFrame(found["results"])
    frame.attrs["environment"] = found["environment"]
    return frame


def plan_profile(
    norms: Sequence[str],
    *,
    settings: Mapping[str, Any] | None = None,
    shapes: Sequence[tuple[int, ...]] = SHAPES,
    only: str = "both",
    rounds: int = 20,
    precision: float | None = None,
    seconds: float = 60.0,
    calibrate: bool = False,
) -> ProfilePlan:
    """A checked plan: the norms, each once, after the references `none` and `batchnorm`.

    settings: the other settings of the configurations.  only: layers, model or both.
    """
    if only not in ("layers", "model", "both"):
        raise UsageError(f"--only {only} is not known", "give layers, model or both")
    names = dict.fromkeys([*REFERENCES, *map(NORMS.canonical, norms)])
    configs = [build.resolve(make_config({**(settings or {}), "norm": name}, USER), trial=None) for name in names]
    for config in configs:
        if only != "layers" and config.folds:
            raise UsageError(f"the training step of {config.model} on graphs is not profiled", "give --only layers")
    return ProfilePlan(
        configs=tuple(configs),
        shapes=tuple(shapes) if only != "model" else (),
        model=only != "layers",
        rounds=rounds,
        precision=precision,
        seconds=seconds,
        calibrate=calibrate,
    )


def run_profile(plan: ProfilePlan, store: Store) -> dict[str, Any]:
    """Measure everything, record every raw sample, and give the environment, the results and what of them is lost."""
    _, found = profile_contenders(plan, store)
    return found


def profile_contenders(plan: ProfilePlan, store: Store) -> tuple[dict[str, str], dict[str, Any]]:
    """The recorded run of each norm, and what `run_profile` gives."""
    paths.set_compile_cache()
    facts = environment(plan.device)
    results: list[Row] = []
    with recording_outcome(store, lambda run_id: "a profile is not continued: give the command again") as begun:
        run_ids = {
            config.norm: begun.begin(partial(begin_contender, config, plan, store, facts)) for config in plan.configs
        }
        heartbeat = Heartbeat(store, *run_ids.values())
        for place, workloads in places(plan):
            results += measure_place(plan, place, workloads, run_ids, store, heartbeat)
        for run_id in run_ids.values():
            store.end(run_id, "finished")
    store.flush()
    lost = [sentence for run_id in run_ids.values() if (sentence := store.lost(run_id))]
    return run_ids, {"environment": facts, "results": results, "lost": lost}


def begin_contender(config: ResolvedConfig, plan: ProfilePlan, store: Store, facts: dict[str, Any]) -> str:
    """Record a run for a contender.  The hardware is part of a profile's identity."""
    own, details = details_of(config, facts)
    identity = [own, plan.shapes, plan.model, {key: facts[key] for key in HARDWARE}]
    fingerprint = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
    return begin_run(config, store, facts, kind="profile", fingerprint=fingerprint, details=details)


def places(plan: ProfilePlan) -> Iterator[tuple[Row, dict[str, Workload]]]:
    """Each shape and the model, with the workloads of the contenders that can be measured there."""
    for shape in plan.shapes:
        workloads = {
            config.norm: layer_workload(
                NORMS.build(config.norm, num_features=shape[1]),
                shape,
                plan.device,
                amp=config.amp,
                channels_last=bool(config.channels_last),
            )
            for config in plan.configs
            # norms of weights are not layers of their own; the whole model shows what they cost
            if not NORMS.parse_norm(config.norm).weight_norms
        }
        yield {"shape": "x".join(map(str, shape))}, workloads
    if plan.model:
        yield {"model": plan.configs[0].model}, {config.norm: step_workload(config) for config in plan.configs}


def step_workload(config: ResolvedConfig) -> Workload:
    """The training step of a whole model on the first batch of its data."""
    training = build.make_training(config)
    saved = saved_bytes(training)
    batch = next(iter(training.train.epoch(1)))
    training.model.train()
    return Workload(partial(train_step, training, batch.inputs, batch.labels), saved, training.model)


def measure_place(
    plan: ProfilePlan,
    place: Row,
    workloads: Mapping[str, Workload],
    run_ids: Mapping[str, str],
    store: Store,
    heartbeat: Heartbeat,
) -> list[Row]:
    """Time the workloads against each other, record the samples, and give the rows."""

    def sample(work: Work, device: torch.device, repeats: int) -> float:
        heartbeat.beat()  # between two samples, where it costs no measurement anything
        return sample_ms(work, device, repeats)

    before = calibration_spread(plan.device)
    calibration = {CALIBRATION: calibration_work(plan.device)} if plan.calibrate else {}
    timings = time_interleaved(
        {name: workload.step for name, workload in workloads.items()} | calibration,
        plan.device,
        rounds=plan.rounds,
        precision=plan.precision,
        reference="batchnorm",
        seconds=plan.seconds,
        sampler=sample,
    )
    after = calibration_spread(plan.device)
    calibrated = timings.pop() if plan.calibrate else None
    solver = {name: solver_metrics(workload.model) for name, workload in workloads.items()}
    for timing in timings:
        record_contender(store, run_ids[timing.name], place, workloads[timing.name], timing, solver[timing.name])
    heartbeat.recorded()
    shared = {**place, "dtype": "float32", "amp": plan.configs[0].amp, "device": plan.device.type}
    return result_rows(workloads, timings, solver, (before, after), shared, calibrated)


def record_contender(
    store: Store, run_id: str, place: Row, workload: Workload, timing: Timing, solver: Mapping[str, float]
) -> None:
    """Record one contender's metrics at one shape or model, and its samples."""
    condition = next(iter(place.values()))
    metrics = {
        "step_time_ms": timing.median,
        "saved_activation_bytes": float(workload.saved_bytes),
        "warmup_steps": float(timing.warmup),
        **solver,
    }
    store.record(
        run_id,
        {f"{name}@{condition}": value for name, value in metrics.items()},
        series={f"step_time_ms@{condition}": timing.samples},
    )
