"""Gradients as tensors: `Tensor.grad` is None where no backward pass has been."""

from __future__ import annotations

from torch import Tensor


def grad_of(tensor: Tensor | None) -> Tensor:
    assert tensor is not None
    assert tensor.grad is not None
    return tensor.grad
