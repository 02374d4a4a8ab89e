"""Fast products of many rows with a small matrix, as in linear layers over the nodes of graphs.

Torch multiplies float32 matrices with MKL, which uses only half of the register width on AVX-512 processors that are
not Intel's; oneDNN, which torch also contains, uses all of it.  But oneDNN generates a kernel for every new size, which
takes longer than such a product.  So oneDNN gets a multiple of `STRIDE` rows, and MKL the few that are left.  Both
compute in float32; only the order of summation differs.

`onednn_linear` calls a private operator of torch, which is tested on a small product before it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from normbench_cli import fast_paths
from normbench_cli.device import onednn_is_faster

STRIDE = 64
FEWEST = 1024  # rows; for fewer, calling oneDNN costs what it saves


class OneDNNLinear(nn.Linear):
    """nn.Linear for (rows, features), where the number of rows changes from batch to batch."""

    def forward(self, x: Tensor) -> Tensor:
        if torch.compiler.is_compiling() or torch.is_autocast_enabled("cpu"):
            return super().forward(x)  # these choose the kernel, or the precision, themselves
        if x.device.type != "cpu" or x.dtype != torch.float32 or len(x) < FEWEST:
            return super().forward(x)
        if not (onednn_is_faster() and onednn_works()):
            return super().forward(x)
        apply: Callable[[Tensor, Tensor], Tensor] = OneDNNMatMul.apply
        y = apply(x, self.weight) if torch.is_grad_enabled() else matmul(x, self.weight.t())
        return y if self.bias is None else y + self.bias


class OneDNNMatMul(torch.autograd.Function):
    """x W^T for x (rows, inputs) and W (outputs, inputs)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return matmul(x, weight.t())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        needs_x, needs_weight = ctx.needs_input_grad
        return (
            matmul(grad, weight) if needs_x else None,
            matmul_tn(grad, x) if needs_weight else None,
        )


def matmul(x: Tensor, matrix: Tensor) -> Tensor:
    """x M for x (rows, inner) and M (inner, columns)."""
    most = len(x) - len(x) % STRIDE
    y = x.new_empty(len(x), matrix.shape[1])
    y[:most] = onednn_linear(x[:most], matrix.t())
    torch.mm(x[most:], matrix, out=y[most:])
    return y


def matmul_tn(a: Tensor, b: Tensor) -> Tensor:
    """a^T b for a (rows, m) and b (rows, n): a sum over the rows."""
    if b.shape[1] < a.shape[1]:  # few rows and many columns are faster than the reverse
        return matmul_tn(b, a).t()
    most = len(a) - len(a) % STRIDE
    return onednn_linear(a[:most].t(), b[:most].t()).addmm_(a[most:].t(), b[most:])


def onednn_linear(x: Tensor, weight: Tensor) -> Tensor:
    """x W^T by the operator with which torch.compile replaces a linear layer."""
    y: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, None, "none", [], "")
    return y


def onednn_works() -> bool:
    return fast_paths.passes("oneDNN's linear operator", _trial, "linear layers of graphs use torch's product, slower")


@torch.no_grad()
def _trial() -> None:
    """Compare one product as in `matmul` and one as in `matmul_tn` with float64."""
    x = torch.linspace(-1, 1, 8 * STRIDE, dtype=torch.float32, device="cpu").view(STRIDE, 8)
    for a, b in ((x, x[:3]), (x[:, :3].t(), x.t())):
        if not torch.allclose(onednn_linear(a, b), (a.double() @ b.double().t()).float(), rtol=1e-4, atol=1e-5):
            raise ValueError("wrong values")


def try_fast_paths() -> None:
    """Test oneDNN once if it would be used."""
    if onednn_is_faster():
        onednn_works()
