"""Restoring a model's state after a forward pass that is not part of training."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from normbench_cli.device import random_state, set_random_state


@contextmanager
def preserve_state(model: nn.Module, device: torch.device | None = None) -> Iterator[None]:
    """Restore the mode of every module and the value of every buffer afterwards; with a device, also the state of the
    random generators of that device and of the CPU.

    Parameters are not copied, because no optimizer step is taken in the block.
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
                if name in buffers:  # a buffer registered in the block has no former value
                    buffer.copy_(buffers[name])
        if device is not None and random is not None:
            set_random_state(device, random)
