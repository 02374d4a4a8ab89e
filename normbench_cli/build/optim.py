"""The optimizer with its parameter groups, and the learning-rate schedule."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from normbench_cli.config import RunConfig
from normbench_cli.device import has_fused_optimizers
from normbench_cli.errors import UsageError
from normbench_cli.norms.protocols import weight_decay_group
from normbench_cli.registry import SCHEDULES


def make_optimizer(model: nn.Module, config: RunConfig) -> torch.optim.Optimizer:
    """Make the optimizer with two parameter groups: with weight decay, and without, for example for a learned phi,
    which decay would pull out of its range.  Gamma, beta and biases are vectors; every weight has more dimensions."""
    spares_vectors = config.weight_decay_on == "weights"

    def is_decayed(parameter: nn.Parameter) -> bool:
        return weight_decay_group(parameter) is None and not (spares_vectors and parameter.ndim <= 1)

    decayed = [parameter for parameter in model.parameters() if is_decayed(parameter)]
    undecayed = [parameter for parameter in model.parameters() if not is_decayed(parameter)]
    groups: list[dict[str, Any]] = [{"params": decayed, "weight_decay": config.weight_decay}]
    if undecayed:
        groups.append({"params": undecayed, "weight_decay": 0.0})
    fused = all(has_fused_optimizers(parameter.device) for parameter in model.parameters())
    if config.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=config.lr, momentum=config.momentum, fused=fused)
    kind = torch.optim.Adam if config.optimizer == "adam" else torch.optim.AdamW
    return kind(groups, lr=config.lr, fused=fused)


def make_schedule(config: RunConfig) -> Callable[[float], float]:
    """Make the schedule: a function from progress (0 to 1) to a factor of the learning rate."""
    schedule = SCHEDULES.build(config.schedule)

    def factor(progress: float) -> float:
        try:
            return float(schedule(progress))
        except (ArithmeticError, TypeError, ValueError) as error:
            raise UsageError(f"schedule '{config.schedule}': {error}") from error

    return factor


def check_schedule(factor: Callable[[float], float], spec: str) -> None:
    """Reject a schedule whose factor is negative or not finite at one of several sample points."""
    for progress in (0.0, 0.25, 0.5, 0.75, 0.999):
        if not 0 <= (found := factor(progress)) < math.inf:
            raise UsageError(f"schedule '{spec}' gives {found:g} at {progress:.0%} of the training", "give 0 or more")
