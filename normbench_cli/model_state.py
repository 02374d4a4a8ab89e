"""Leaving a model as it was after a forward that is not part of training."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from normbench_cli.device import random_state, set_random_state


@contextmanager
def preserve_state(model: nn.Module, device: torch.device | None = None) -> Iterator[None]:
    """Afterwards every module is in the mode it was in and every buffer has the value it had; with a device, the random
    generators of that device and of the CPU stand where they stood.

    Parameters are not copied: nothing here takes a step of an optimizer.
    """
    modes = [(module, module.training) for module in model.modules()]
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
    random = None if device is None else random_state(device)
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training
        with torch.no_grad():
            for name, buffer in model.named_buffers():
                if name in buffers:  # one that was registered meanwhile has no former value
                    buffer.copy_(buffers[name])
        if device is not None and random is not None:
            set_random_state(device, random)
