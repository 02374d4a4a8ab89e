"""The contenders of one comparison as timed workloads, and those that cannot be created, with the reason."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from normbench_cli.errors import NormbenchError
from normbench_cli.experiments.profiling.plan import ProfilePlan
from normbench_cli.experiments.profiling.steps import Place, step_workload
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


@dataclass
class Contenders:
    """The workloads that can be timed, and the failures of the others, by norm."""

    workloads: dict[str, Workload] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)

    def fail(self, name: str, error: Exception) -> None:
        self.workloads.pop(name, None)
        self.failures[name] = Failure.of(error)


def make_contenders(plan: ProfilePlan, place: Place) -> Contenders:
    if place.case is None:
        return step_contenders(plan, place)
    return layer_contenders(layer_norms(plan), place.case, plan.device, values_at(plan, place.case))


def values_at(plan: ProfilePlan, case: LayerCase) -> tuple[Tensor, Tensor] | None:
    """The recorded values of a shape, and those of the batch before; None for normally distributed data."""
    if plan.activations is None:
        return None
    values = plan.activations.values[case.shape]
    return values.x, values.before


def step_contenders(plan: ProfilePlan, place: Place) -> Contenders:
    found = Contenders()
    for config in plan.configs:
        try:
            found.workloads[config.norm] = step_workload(config, place.step, place.start)
        except Exception as error:  # such as out of memory: the others are still measured
            found.fail(config.norm, error)
    return found


def layer_norms(plan: ProfilePlan) -> list[str]:
    """The norms that are layers; weight norms are not, and only the whole model shows their cost."""
    return [config.norm for config in plan.configs if not NORMS.parse_norm(config.norm).weight_norms]


def layer_contenders(
    norms: list[str], case: LayerCase, device: torch.device, values: tuple[Tensor, Tensor] | None = None
) -> Contenders:
    """The layers as workloads on the same tensors, because their position in memory can change times by some percent.
    values: see `LayerData.make`."""
    found = Contenders()
    try:
        data = LayerData.make(case, device, values)
    except Exception as error:
        found.failures = dict.fromkeys(norms, Failure.of(error))
        return found
    for norm in norms:
        try:
            layer = NORMS.build(norm, num_features=case.shape[1])
            found.workloads[norm] = layer_workload(layer, case, device, data)
        except Exception as error:  # layers may be third-party code; a failure is a result
            found.fail(norm, error)
    return found
