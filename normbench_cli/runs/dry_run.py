"""What training a configuration would be, told without recording anything: layers, steps, an estimate of the cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from torch import nn
from torch.nn.utils import parametrize

from normbench_cli import build
from normbench_cli.build.resolution import needs_compile_trial
from normbench_cli.build.resolved_config import ResolvedConfig
from normbench_cli.config import RunConfig
from normbench_cli.device import peak_memory_bytes, pick_device, reset_peak_memory, synchronize
from normbench_cli.engine.evaluate import score
from normbench_cli.engine.events import Record
from normbench_cli.engine.step import train_step
from normbench_cli.operations import Operation
from normbench_cli.registry import NORMS
from normbench_cli.runs.grid import by_fingerprint, check_cells


@dataclass(frozen=True)
class NormLocation:
    """A normalization layer (or an operation whose weight is normalized) and where it stands."""

    name: str  # within the model
    norm: str
    placement: str
    operation: str  # the one before it, after it, or itself


@dataclass(frozen=True)
class DryRun:
    """What there is to say of a configuration before it is trained."""

    config: RunConfig
    parameters: int
    norms: list[NormLocation]
    steps: int
    seconds: float
    memory_bytes: int

    def to_json(self) -> dict[str, Any]:
        return {
            "fingerprint": self.config.fingerprint(),
            "config": self.config.to_dict(),
            "parameters": self.parameters,
            "norm_layers": [vars(norm) for norm in self.norms],
            "steps": self.steps,
            "estimate": {"seconds": self.seconds, "memory_bytes": self.memory_bytes},
        }


def dry_run(configs: Iterable[RunConfig]) -> list[DryRun]:
    """What training each of the configurations would take, equal ones once; all are checked first."""
    unique = list(by_fingerprint(configs).values())
    check_cells(unique)
    return [dry_run_one(config) for config in unique]


def dry_run_one(config: RunConfig) -> DryRun:
    """Time a few steps with weights that are thrown away, and extrapolate; what compiling would save is left out.

    Whether the model would be compiled is tried only when it is trained: until then `compile` stays open.
    """
    resolved = build.resolve(config, trial=None)
    model = build.make_model(resolved, build.load_data(config.data))
    steps, seconds, memory = try_folds(resolved) if config.folds else try_steps(replace(resolved, compile=False))
    shown = RunConfig(**resolved.to_dict() | ({"compile": None} if needs_compile_trial(config) else {}))
    parameters = sum(p.numel() for p in model.parameters())
    return DryRun(shown, parameters, norms_of(model, resolved), steps, seconds, memory)


def try_steps(config: ResolvedConfig) -> tuple[int, float, int]:
    """Steps, seconds and peak memory, from three steps and one batch of evaluation."""
    training = build.make_training(config)
    reset_peak_memory(training.device)
    batch = next(iter(training.train.epoch(1)))
    training.model.train()
    a_step = least_seconds(lambda: train_step(training, batch.inputs, batch.labels), config)
    evaluations = [split for split in (training.validation, training.test) if split is not None]
    by_evaluation = 0.0
    for split in evaluations:
        first = OneBatch(next(iter(split.epoch())))
        by_evaluation += least_seconds(lambda of=first: score(training, of), config) * len(split)  # type: ignore[misc]
    seconds = training.steps * a_step + training.epochs * by_evaluation
    return training.steps, seconds, peak_memory_bytes(training.device)


class OneBatch:
    """A split of one batch."""

    damaged = None

    def __init__(self, batch: Any) -> None:
        self._batch, self.batch_size, self.examples = batch, len(batch.labels), len(batch.labels)

    def __len__(self) -> int:
        return 1

    def epoch(self, number: int = 0, first: int = 0) -> Any:
        return iter([self._batch])


def least_seconds(work: Callable[[], object], config: RunConfig, times: int = 3) -> float:
    """The shortest of a few runs; the first ones are slow for reasons that do not last."""
    device, found = pick_device(config.device), []
    for _ in range(times):
        synchronize(device)
        began = time.perf_counter()
        work()
        synchronize(device)
        found.append(time.perf_counter() - began)
    return min(found)


def try_folds(config: ResolvedConfig) -> tuple[int, float, int]:
    """The same for a cross-validation, from what one epoch and what four more take."""
    seconds, last = [], Record(None, 0, {})
    for epochs in (1, 5):
        began = time.perf_counter()
        for record in build.cross_validation(replace(config, epochs=epochs)):
            last = record if isinstance(record, Record) else last
        seconds.append(time.perf_counter() - began)
    epochs, an_epoch = config.epochs or 0, max(seconds[1] - seconds[0], 0.0) / 4
    memory = int(last.metrics["peak_memory_bytes"])
    return last.step * epochs // 5, seconds[0] + (epochs - 1) * an_epoch, memory


def norms_of(model: nn.Module, config: RunConfig) -> list[NormLocation]:
    """Every layer that a part of the norm's spec has made, in the order of the model."""
    found = []
    leaves = [(name, module) for name, module in model.named_modules() if name]
    operations = [name for name, module in leaves if isinstance(module, Operation)]
    order = {name: place for place, (name, _) in enumerate(leaves)}
    norm = NORMS.parse_norm(config.norm)
    for spec in (spec for spec in norm.parts if spec.entry.name != "none"):
        kind, placement = spec.entry.load(), "weight" if spec in norm.weight_norms else norm.placement
        for name, module in leaves:
            if placement == "weight":
                if isinstance(module, Operation) and parametrize.is_parametrized(module, "weight"):
                    found.append(NormLocation(name, str(spec), placement, name))
            elif isinstance(kind, type) and type(module) is kind:
                sides = [op for op in operations if (order[op] > order[name]) == (placement == "before")]
                nearest = (sides[0] if placement == "before" else sides[-1]) if sides else ""
                found.append(NormLocation(name, str(spec), placement, nearest))
    return found
