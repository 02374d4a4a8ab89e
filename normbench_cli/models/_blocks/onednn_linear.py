"""Products of many rows with a small matrix, as linear layers over the nodes of graphs are, at the processor's speed.

Torch multiplies float32 matrices with MKL, which uses half of a register on processors that are not Intel's; oneDNN,
which torch also brings, uses all of it.  But it makes a kernel for every size it meets, and that takes longer than
such a product: so it is given a multiple of `STRIDE` rows, and MKL the few that are left.  Both compute in float32;
only the order of summation differs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from normbench_cli.device import onednn_is_faster

STRIDE = 64
FEWEST = 1024  # rows; for fewer, calling oneDNN costs what it saves


class OneDNNLinear(nn.Linear):
    """nn.Linear for (rows, features), where the number of rows changes from batch to batch."""

    def forward(self, x: Tensor) -> Tensor:
        if x.device.type != "cpu" or x.dtype != torch.float32 or len(x) < FEWEST or not onednn_is_faster():
            return super().forward(x)
        y: Tensor = OneDNNMatMul.apply(x, self.weight) if torch.is_grad_enabled() else matmul(x, self.weight.t())
        return y if self.bias is None else y + self.bias


class OneDNNMatMul(torch.autograd.Function):
    """x W^T for (rows, inputs) and (outputs, inputs)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return matmul(x, weight.t())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        wanted_x, wanted_weight = ctx.needs_input_grad
        return (
            matmul(grad, weight) if wanted_x else None,
            matmul_tn(grad, x) if wanted_weight else None,
        )


def matmul(x: Tensor, matrix: Tensor) -> Tensor:
    """x M"""
    most = len(x) - len(x) % STRIDE
    y = x.new_empty(len(x), matrix.shape[1])
    y[:most] = onednn_linear(x[:most], matrix.t())
    torch.mm(x[most:], matrix, out=y[most:])
    return y


def matmul_tn(a: Tensor, b: Tensor) -> Tensor:
    """a^T b: outer products, summed over the rows."""
    if b.shape[1] < a.shape[1]:  # a product of few rows and many columns is faster than one of many and few
        return matmul_tn(b, a).t()
    most = len(a) - len(a) % STRIDE
    return onednn_linear(a[:most].t(), b[:most].t()).addmm_(a[most:].t(), b[most:])


def onednn_linear(x: Tensor, weight: Tensor) -> Tensor:
    """What torch's compiler puts in the place of a linear layer: x W^T."""
    y: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, None, "none", [], "")
    return y
