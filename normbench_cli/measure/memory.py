"""Bytes that autograd saves for the backward pass: a layer's memory cost, the same on every device."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn


def saved_activation_bytes(forward: Callable[[], object], model: nn.Module | None = None) -> int:
    """Call `forward` and count the bytes it saves for backward.  Each storage counts once; the model's parameters and
    buffers do not count, since they are kept anyway."""
    owned = {t.untyped_storage().data_ptr() for t in (*model.parameters(), *model.buffers())} if model else set()
    sizes: dict[int, int] = {}
    # Held until the end, so that no address is used twice.  Detached, because the graph holds `count`, and a tensor
    # with a `grad_fn` would hold the graph: a cycle that Python cannot collect.
    saved: list[Tensor] = []

    def count(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in owned:
            sizes[storage.data_ptr()] = storage.nbytes()
            saved.append(tensor.detach())
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor):
        forward()
    return sum(sizes.values())
