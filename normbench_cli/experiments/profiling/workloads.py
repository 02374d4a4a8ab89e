"""The contenders of one comparison as something to be timed, and those that cannot be made, with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import torch

from normbench_cli import build
from normbench_cli.build import ResolvedConfig
from normbench_cli.engine.loop import saved_bytes
from normbench_cli.engine.step import train_step
from normbench_cli.errors import NormbenchError
from normbench_cli.experiments.profiling.plan import ProfilePlan
from normbench_cli.measure.cases import LayerCase
from normbench_cli.measure.failures import Status, status_of
from normbench_cli.measure.workloads import LayerData, Workload, layer_workload
from normbench_cli.registry import NORMS


@dataclass(frozen=True)
class Failure:
    """Why a contender could not be measured."""

    status: Status
    message: str

    @classmethod
    def of(cls, error: Exception) -> Failure:
        if isinstance(error, NormbenchError):
            return cls("failed", str(error))
        return cls(*status_of(error))


@dataclass(frozen=True)
class Place:
    """A layer case, or the training step of a model; count: how often a network calls its norms so."""

    model: str = ""
    case: LayerCase | None = None
    count: int = 1

    @property
    def condition(self) -> str:
        """What stands behind the @ of its metrics."""
        return self.case.label if self.case else self.model


@dataclass
class Contenders:
    """Those that can be timed, and the others, by norm."""

    workloads: dict[str, Workload] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)

    def fail(self, name: str, error: Exception) -> None:
        self.workloads.pop(name, None)
        self.failures[name] = Failure.of(error)


def places(plan: ProfilePlan) -> Iterator[Place]:
    for case, count in plan.cases.items():
        yield Place(case=case, count=count)
    if plan.model:
        yield Place(plan.configs[0].model)


def make_contenders(plan: ProfilePlan, place: Place) -> Contenders:
    if place.case is None:
        return Contenders({config.norm: step_workload(config) for config in plan.configs})
    return layer_contenders(layer_norms(plan), place.case, plan.device)


def layer_norms(plan: ProfilePlan) -> list[str]:
    """Norms of weights are not layers of their own; the whole model shows what they cost."""
    return [config.norm for config in plan.configs if not NORMS.parse_norm(config.norm).weight_norms]


def layer_contenders(norms: list[str], case: LayerCase, device: torch.device) -> Contenders:
    """All get the same data: where tensors lie in memory can make a difference of some per cent."""
    found = Contenders()
    try:
        data = LayerData.make(case, device)
    except Exception as error:
        found.failures = dict.fromkeys(norms, Failure.of(error))
        return found
    for norm in norms:
        try:
            layer = NORMS.build(norm, num_features=case.shape[1])
            found.workloads[norm] = layer_workload(layer, case, device, data)
        except Exception as error:  # a layer may be anybody's; that it cannot be measured is a result
            found.fail(norm, error)
    return found


def step_workload(config: ResolvedConfig) -> Workload:
    """The training step of a whole model on the first batch of its data."""
    training = build.make_training(config)
    saved = saved_bytes(training)
    batch = next(iter(training.train.epoch(1)))
    training.model.train()
    return Workload(partial(train_step, training, batch.inputs, batch.labels), saved, training.model)
