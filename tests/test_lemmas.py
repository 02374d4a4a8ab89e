"""What theory says of weights that a norm makes scale-free: no gradient along them, so they only grow without decay."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from normbench_cli.norms import NORMS

WEIGHT_NORMS = ("weightnorm", "centeredweightnorm:scale=1", "weightstandardization", "spectralnorm")
RAW_WEIGHTS = ("parametrizations.weight.original1", "parametrizations.weight.original", "weight")


def net_with(norm: str) -> tuple[nn.Module, nn.Parameter]:
    """A tiny network in float64, and the weight that its norm makes scale-free."""
    torch.manual_seed(0)
    op = nn.Conv2d(3, 6, 3, bias=False, dtype=torch.float64)
    after: nn.Module = nn.Identity()
    if norm in WEIGHT_NORMS:
        NORMS.build(norm, op=op)
    else:
        after = NORMS.build(norm, num_features=6).double()
    raw = dict(op.named_parameters())  # weight normalization also learns the length, `original0`
    weight = next(raw[key] for key in RAW_WEIGHTS if key in raw)
    return nn.Sequential(op, after, nn.Tanh(), nn.Flatten(), nn.Linear(96, 4, dtype=torch.float64)), weight


def batch(number: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(number)
    x = torch.randn(16, 3, 6, 6, dtype=torch.float64, generator=draw)
    return x, torch.randint(0, 4, (16,), generator=draw)


def along(norm: str) -> tuple[torch.Tensor, torch.Tensor]:
    """<W, dL/dW> of each row, and of the layer, in units of their lengths."""
    net, weight = net_with(norm)
    x, y = batch()
    if norm == "spectralnorm":  # its singular value is exact only once the power iteration has converged
        for _ in range(300):
            net(x)
        net.eval()
    (slope,) = torch.autograd.grad(F.cross_entropy(net(x), y), weight)
    w, g = weight.detach().flatten(1), slope.flatten(1)
    return (w * g).sum(1) / (w.norm(dim=1) * g.norm(dim=1)), (w * g).sum() / (w.norm() * g.norm())


@pytest.mark.parametrize(
    "norm", ["batchnorm:eps=1e-12", "weightnorm", "centeredweightnorm:scale=1", "weightstandardization"]
)
def test_no_row_has_a_gradient_along_itself(norm: str) -> None:
    rows, _ = along(norm)
    assert rows.abs().max() < 1e-4  # the eps of the authors' weight norms shows in the fifth digit


@pytest.mark.parametrize("norm", ["layernorm:eps=1e-12", "groupnorm:groups=2,eps=1e-12", "spectralnorm"])
def test_only_the_whole_layer_has_no_gradient_along_itself(norm: str) -> None:
    rows, layer = along(norm)
    assert layer.abs() < 1e-6
    assert rows.abs().max() > 0.01


def steps_down(norm: str, momentum: float, decay: float, steps: int = 150) -> int:
    """How many training steps made the scale-free weight shorter."""
    net, weight = net_with(norm)
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=momentum, weight_decay=decay)
    lengths = []
    for step in range(steps):
        x, y = batch(step % 3)
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
        lengths.append(weight.detach().norm().item())
    return sum(later < earlier * (1 - 1e-9) for earlier, later in pairwise(lengths))


@pytest.mark.parametrize("norm", ["batchnorm:eps=1e-12", "weightnorm"])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_without_weight_decay_the_weights_never_get_shorter(norm: str, momentum: float) -> None:
    assert steps_down(norm, momentum, decay=0.0) == 0


@pytest.mark.parametrize("norm", ["batchnorm:eps=1e-12", "weightnorm"])
def test_with_weight_decay_the_weights_get_shorter(norm: str) -> None:
    assert steps_down(norm, 0.0, decay=0.05) > 100
