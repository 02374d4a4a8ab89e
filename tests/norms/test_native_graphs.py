"""The kernels in C++ for batches of graphs compute what the formulas say."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from normbench_cli.norms._ggm import padded
from normbench_cli.norms._ggm.median import generalized_median
from normbench_cli.norms._native import graphs, library
from normbench_cli.norms._native.graphs import NativeGraphOptions
from normbench_cli.norms._padding import first_rows
from normbench_cli.norms.auggraphnorm import AugGraphNorm
from tests.norms.test_padded import SIZES, some_graphs

pytestmark = pytest.mark.skipif(library.compiler() is None, reason="no C++ compiler")
OPTIONS = NativeGraphOptions(eps=1e-6, tol=0.02)
CHANNELS = 6


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORMBENCH_COMPILE", "always")


def sorted_graphs() -> tuple[Tensor, Tensor, Tensor]:
    x, _ = some_graphs(torch.float32)
    batch = torch.repeat_interleave(torch.arange(len(SIZES)), torch.tensor(SIZES))
    first = first_rows(batch, len(SIZES))
    assert first is not None
    return x, batch, first


@pytest.mark.parametrize("phi", [1.2, 1.5, 3.0, "learned"])
def test_forward_and_backward_of_each_graph(phi: Any) -> None:
    x, _, first = sorted_graphs()
    phi = torch.linspace(1.21, 1.9, CHANNELS) if phi == "learned" else phi
    weight, bias, alpha = (torch.linspace(low, 1.5, CHANNELS) for low in (0.5, -1, 0.2))
    dy = torch.randn(x.shape, generator=torch.Generator().manual_seed(1))
    totals = torch.zeros(5)
    found = graphs.forward(x, weight, bias, alpha, phi, first, totals, OPTIONS)
    assert found is not None
    y, statistics, new_totals, largest = found
    assert new_totals[0] == 1
    assert new_totals[3] == 0  # all are certified
    assert 0 < largest <= OPTIONS.tol * 1.001
    leaves: list[Any] = [t.clone().requires_grad_() for t in (x, weight, bias, alpha)]
    learned = phi.clone().requires_grad_() if isinstance(phi, Tensor) else phi
    given = [learned] if isinstance(learned, Tensor) else []
    tensors: list[Any] = [*leaves, learned, first, totals, OPTIONS]
    normalized = graphs.normalize_graphs(*tensors)
    assert normalized is not None
    assert torch.equal(normalized.y, y)
    dx, *gradients = torch.autograd.grad(normalized.y, [*leaves, *given], dy)
    sums = [torch.zeros(CHANNELS, dtype=torch.float64) for _ in range(4)]
    for graph, (begin, end) in enumerate(zip(first.tolist(), first[1:].tolist(), strict=False)):
        if begin == end:
            continue
        data, n = x[begin:end].double(), end - begin
        mean, mu, scale, floor, unit = (t[graph].double() for t in statistics)
        allowed = OPTIONS.tol * data.std(0, correction=0) / n**0.5 + 1e-5 * data.abs().amax(0)
        medians = generalized_median(data, phi.double() if isinstance(phi, Tensor) else phi)
        assert ((mu - medians).abs() <= allowed).all()
        expected = (data - alpha * mu) * (scale * weight) + bias
        torch.testing.assert_close(y[begin:end].double(), expected, rtol=1e-4, atol=1e-4)
        square = (data - alpha * mu).square().mean(0)
        torch.testing.assert_close(scale, (square + OPTIONS.eps).rsqrt(), rtol=1e-4, atol=1e-4)
        of_graph = (t.view(1, 1, -1) for t in (mean, floor, unit, mu, scale))
        power = phi.double() if isinstance(phi, Tensor) else None
        sizes, options = (
            torch.full((1, 1, 1), float(n)).double(),
            padded.GraphOptions(None, OPTIONS.eps, 0, OPTIONS.tol),
        )
        of_one: list[Any] = [dy[None, begin:end].double(), data[None], sizes, weight.double(), alpha.double(), power]
        options = options if power is not None else options._replace(phi=phi)
        own, *of_parameters = padded.backward_pass(*of_one, *of_graph, options=options)
        torch.testing.assert_close(dx[begin:end].double(), own[0], rtol=2e-3, atol=2e-3 * float(scale.max()))
        sums = [a + b for a, b in zip(sums, of_parameters, strict=True)]
    for one, other in zip(gradients, sums, strict=False):
        torch.testing.assert_close(one.double(), other, rtol=5e-3, atol=5e-3 * float(other.abs().max()))


def test_the_layer_takes_the_kernels_for_sorted_batches_of_ordinary_size(monkeypatch: pytest.MonkeyPatch) -> None:
    x, batch, _ = sorted_graphs()
    layer, taken = AugGraphNorm(CHANNELS), []
    real = graphs.normalize_graphs

    def normalize(*tensors: Any) -> Any:
        taken.append(real(*tensors) is not None)
        return real(*tensors)

    monkeypatch.setattr(graphs, "normalize_graphs", normalize)
    y = layer(x, batch, len(SIZES))
    shuffled = torch.randperm(len(x))
    torch.testing.assert_close(layer(x[shuffled], batch[shuffled], len(SIZES)), y[shuffled], rtol=0.05, atol=0.05)
    assert torch.isfinite(layer(x * 1e30, batch, len(SIZES))).all()
    layer(x.double(), batch, len(SIZES))
    assert taken == [True, False, False]


def test_a_value_that_is_not_finite_stays_in_its_graph() -> None:
    x, batch, _ = sorted_graphs()
    x[8, 1] = torch.inf
    y = AugGraphNorm(CHANNELS)(x, batch, len(SIZES))
    alike = batch == batch[8]
    assert not torch.isfinite(y[alike, 1]).any()
    assert torch.isfinite(y[~alike]).all()
