"""The dry run: what training a configuration would involve (layers, steps, estimated cost); nothing is recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from normbench_cli import build
from normbench_cli.build import ResolvedConfig
from normbench_cli.config import DEFAULTS, RunConfig
from normbench_cli.device import peak_memory_bytes, pick_device, reset_peak_memory, synchronize
from normbench_cli.engine.evaluate import score
from normbench_cli.engine.events import Record
from normbench_cli.engine.protocols import Batch
from normbench_cli.engine.step import train_step
from normbench_cli.experiments.distributed.rank_zero import sharing_cores
from normbench_cli.experiments.norm_layers import NormLayer, norm_layers
from normbench_cli.experiments.plan import by_fingerprint, check_cells
from normbench_cli.registry import NORMS

COST_IRRELEVANT: dict[str, Any] = {  # settings that do not affect the cost of training
    name: DEFAULTS[name] for name in ("lr", "weight_decay", "schedule", "init", "seed", "tag", "note")
}
REPEATS = 3
FEW_EPOCHS, MORE_EPOCHS = 1, 5  # of two cross-validations; their difference gives the cost of an epoch


@dataclass(frozen=True)
class Estimate:
    """The cost of a training run, extrapolated from a few steps."""

    steps: int
    seconds: float
    memory_bytes: int


@dataclass(frozen=True)
class DryRun:
    """A configuration as it would be trained.  Its `compile` is None if only a trial can decide."""

    config: RunConfig
    fingerprint: str
    parameters: int
    norms: list[NormLayer]
    estimate: Estimate

    def to_json(self) -> dict[str, Any]:
        return {
            "fingerprint": self.fingerprint,
            "config": self.config.to_dict(),
            "parameters": self.parameters,
            "norm_layers": [asdict(norm) for norm in self.norms],
            "steps": self.estimate.steps,
            "estimate": {"seconds": self.estimate.seconds, "memory_bytes": self.estimate.memory_bytes},
        }


def dry_run(configs: Iterable[RunConfig]) -> list[DryRun]:
    """Estimate the cost of training each configuration, without duplicates; all are checked first.

    Configurations of equal cost are measured once.
    """
    unique = by_fingerprint(configs)
    check_cells(unique.values())
    tried: dict[RunConfig, DryRun] = {}
    for fingerprint, config in unique.items():
        if (cost := replace(config, **COST_IRRELEVANT)) not in tried:
            tried[cost] = dry_run_one(config, fingerprint)
    return [
        like(tried[replace(config, **COST_IRRELEVANT)], config, fingerprint) for fingerprint, config in unique.items()
    ]


def like(tried: DryRun, config: RunConfig, fingerprint: str) -> DryRun:
    """The dry run of a configuration that costs the same."""
    own = {name: getattr(config, name) for name in COST_IRRELEVANT}
    return replace(tried, config=replace(tried.config, **own), fingerprint=fingerprint)


def dry_run_one(config: RunConfig, fingerprint: str) -> DryRun:
    """Time a few steps with weights that are thrown away.  The estimate ignores what compiling would save."""
    resolved = build.resolve(config, trial=None)
    model = build.make_model(resolved, build.load_data(config.data))
    with build.flags_of(resolved), sharing_cores(resolved.nproc):
        estimate = estimate_folds(resolved) if config.folds else estimate_steps(resolved)
    open_choice = {"compile": None} if build.needs_compile_trial(config) else {}
    return DryRun(
        fingerprint=fingerprint,
        config=RunConfig(**resolved.to_dict() | open_choice),
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        norms=norm_layers(model, NORMS.parse_norm(config.norm)),
        estimate=estimate,
    )


def estimate_steps(config: ResolvedConfig) -> Estimate:
    """Estimate from three steps, and from scoring the first batch of each split three times.  With several processes,
    this one computes its share of the batch; the estimate ignores communication."""
    training = build.make_training(replace(config, compile=False))
    device = training.device
    reset_peak_memory(device)
    batch = next(iter(training.train.epoch(1)))
    part = -(-len(batch.labels) // config.nproc)
    inputs, labels = (batch.inputs, batch.labels) if config.nproc == 1 else (batch.inputs[:part], batch.labels[:part])
    training.model.train()
    seconds = training.steps * shortest(lambda: train_step(training, inputs, labels), config)
    for split in (training.validation, training.test):
        if split is not None:
            first = OneBatch(next(iter(split.epoch())))
            seconds += training.epochs * len(split) * shortest(lambda of=first: score(training, of), config)  # type: ignore[misc]
    return Estimate(training.steps, seconds, peak_memory_bytes(device))


def estimate_folds(config: ResolvedConfig) -> Estimate:
    """Estimate from cross-validations of one epoch and of five."""
    seconds, last = [], Record(None, 0, {})
    for epochs in (FEW_EPOCHS, MORE_EPOCHS):
        began = time.perf_counter()
        for event in build.cross_validation(replace(config, epochs=epochs)):
            last = event if isinstance(event, Record) else last
        seconds.append(time.perf_counter() - began)
    epochs = config.epochs or 0
    an_epoch = max(seconds[1] - seconds[0], 0.0) / (MORE_EPOCHS - FEW_EPOCHS)
    return Estimate(
        steps=last.step * epochs // MORE_EPOCHS,
        seconds=seconds[0] + (epochs - FEW_EPOCHS) * an_epoch,
        memory_bytes=int(last.metrics["peak_memory_bytes"]),
    )


def shortest(work: Callable[[], object], config: RunConfig) -> float:
    """The shortest time of a few calls; the first ones include warm-up."""
    device, seconds = pick_device(config.device), []
    for _ in range(REPEATS):
        synchronize(device)
        began = time.perf_counter()
        work()
        synchronize(device)
        seconds.append(time.perf_counter() - began)
    return min(seconds)


class OneBatch:
    """A split that consists of one batch."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    def __len__(self) -> int:
        return 1

    def epoch(self, number: int = 0, first: int = 0) -> Iterator[Batch]:
        return iter([self._batch])
