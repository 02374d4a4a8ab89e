"""Initial weights, equal for equal seeds whatever norm stands between the operations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from normbench_cli.config import RunConfig
from normbench_cli.operations import Operation
from normbench_cli.registry import ACTIVATIONS
from normbench_cli.seeds import derive

SCHEMES: dict[str, Callable[[Tensor], Tensor]] = {
    "torch": partial(nn.init.kaiming_uniform_, a=5**0.5),  # the default of torch's own layers
    "kaiming": partial(nn.init.kaiming_normal_, nonlinearity="relu"),
    "xavier": nn.init.xavier_normal_,
}


def initialize(model: nn.Module, config: RunConfig) -> None:
    """Draw the initial weights in place.

    Every operation has a generator of its own, seeded by its index, so two runs with the same seed start from the same
    weights whichever norm they use, and whether or not their operations have biases.
    """
    scheme = config.init
    if scheme == "auto":
        scheme = ACTIVATIONS.parse(config.act).entry.facts.init
    operations = [module for module in model.modules() if isinstance(module, Operation)]
    for index, op in enumerate(operations):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derive(config.seed, "weights", index))
            weight = SCHEMES[scheme](torch.empty_like(op.weight, memory_format=torch.contiguous_format))
            set_weight(op, weight * config.init_gain if config.init_gain != 1 else weight)
            if op.bias is not None and scheme == "torch":
                bound = op.weight[0].numel() ** -0.5
                nn.init.uniform_(op.bias, -bound, bound)
            elif op.bias is not None:
                nn.init.zeros_(op.bias)


def set_weight(op: Any, weight: Tensor) -> None:
    """Set an operation's weight, through its parametrization if it has one (as under weight normalization)."""
    if parametrize.is_parametrized(op, "weight"):
        op.weight = weight
    else:
        with torch.no_grad():
            op.weight.copy_(weight)
