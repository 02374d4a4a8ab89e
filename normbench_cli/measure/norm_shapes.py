"""The input shapes of a model's norms, recorded by hooks while it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

TORCH_NORMS = (
    _BatchNorm,  # base of every batch normalization, including ours
    *(nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d),
    *(nn.GroupNorm, nn.LayerNorm, nn.RMSNorm, nn.LocalResponseNorm),
)


def norm_shapes(
    model: nn.Module, run: Callable[[], object], types: tuple[type, ...] = TORCH_NORMS
) -> dict[tuple[int, ...], int]:
    """Count how often the model's norms are called with each shape during one run, in order of first call."""
    found: Counter[tuple[int, ...]] = Counter()

    def note(_: nn.Module, inputs: tuple[Any, ...]) -> None:
        if inputs and isinstance(inputs[0], Tensor):
            found[tuple(inputs[0].shape)] += 1

    hooks = [module.register_forward_pre_hook(note) for module in model.modules() if isinstance(module, types)]
    try:
        with torch.no_grad():
            run()
    finally:
        for hook in hooks:
            hook.remove()
    return dict(found)
