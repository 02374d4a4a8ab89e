"""Bytes that autograd keeps for the backward pass: what a layer costs in memory, the same on every device."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn


def saved_activation_bytes(forward: Callable[[], object], model: nn.Module | None = None) -> int:
    """Run `forward` and count what it saves for backward; storages count once, the model's own parameters and buffers
    not at all (they are kept anyway)."""
    owned = {t.untyped_storage().data_ptr() for t in (*model.parameters(), *model.buffers())} if model else set()
    seen: dict[int, int] = {}
    kept: list[Tensor] = []  # held until the end, so that no address is used twice

    def count(saved: Tensor) -> Tensor:
        storage = saved.untyped_storage()
        if storage.data_ptr() not in owned:
            seen[storage.data_ptr()] = storage.nbytes()
            kept.append(saved)
        return saved

    with torch.autograd.graph.saved_tensors_hooks(count, lambda saved: saved):
        forward()
    return sum(seen.values())
