"""Initial weights, equal for equal seeds whichever norm the network uses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from normbench_cli.config import RunConfig
from normbench_cli.operations import Operation
from normbench_cli.registry import ACTIVATIONS, NORMS
from normbench_cli.seeds import derive

SCHEMES: dict[str, Callable[[Tensor], Tensor]] = {
    "torch": partial(nn.init.kaiming_uniform_, a=5**0.5),  # the default of torch's own layers
    "kaiming": partial(nn.init.kaiming_normal_, nonlinearity="relu"),
    "kaiming_fan_out": partial(nn.init.kaiming_normal_, mode="fan_out", nonlinearity="relu"),
    "xavier": nn.init.xavier_normal_,
    "lsuv": nn.init.orthogonal_,  # scaled to the data later (unit_variance.py)
}
SCHEMES["torchvision"] = lambda weight: SCHEMES["torch" if weight.ndim == 2 else "kaiming_fan_out"](weight)
TORCH_BIASES = ("torch", "torchvision")  # the others start with zero biases


def initialize(model: nn.Module, config: RunConfig) -> None:
    """Draw the initial weights in place, and set gamma and beta of the norms.

    Every operation has its own generator, seeded by its index, so two runs with the same seed start from the same
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
            if op.bias is not None and scheme in TORCH_BIASES:
                bound = op.weight[0].numel() ** -0.5
                nn.init.uniform_(op.bias, -bound, bound)
            elif op.bias is not None:
                nn.init.zeros_(op.bias)
    if config.gamma_init != 1 or config.beta_init != 0:
        set_gamma_and_beta(model, config)


def set_gamma_and_beta(model: nn.Module, config: RunConfig) -> None:
    """Set gamma and beta in every layer of the configuration's data norm."""
    data_norm = NORMS.parse_norm(config.norm).data_norm
    layer_type = data_norm.entry.load() if data_norm else None
    for module in model.modules():
        if type(module) is layer_type:
            for name, value in (("weight", config.gamma_init), ("bias", config.beta_init)):
                if isinstance(parameter := getattr(module, name, None), nn.Parameter):
                    nn.init.constant_(parameter, value)


def set_weight(op: Any, weight: Tensor) -> None:
    """Set an operation's weight, through its parametrization if it has one (as under weight normalization)."""
    if parametrize.is_parametrized(op, "weight"):
        op.weight = weight
    else:
        with torch.no_grad():
            op.weight.copy_(weight)
