"""The median of graphs in padded batches: equal to that by sums over segments, compiled or not, and its gradient."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from normbench_cli.norms._ggm import graphs
from normbench_cli.norms._ggm.padded import GraphOptions
from normbench_cli.norms._padding import padding_of
from normbench_cli.norms.auggraphnorm import AugGraphNorm

SIZES = [1, 5, 40, 2, 0, 13, 3, 7, 36, 0]  # several padded batches, graphs of one node and of none


def some_graphs(dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    batch = torch.repeat_interleave(torch.arange(len(SIZES)), torch.tensor(SIZES))
    batch = batch[torch.randperm(len(batch))]
    x = torch.randn(len(batch), 6, dtype=dtype)
    x[:, 2] = (x[:, 2] > 0.5).to(dtype)  # many equal values
    x[:, 3] = 0.0
    x[:, 4] = (x[:, 4] * 2).exp()
    return x, batch


def results(layer: AugGraphNorm, x: Tensor, batch: Tensor) -> list[Tensor]:
    x = x.clone().requires_grad_()
    y = layer(x, batch, len(SIZES))
    slope = torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view_as(y)
    return [y, *torch.autograd.grad((y * slope).sum(), [x, *layer.parameters()])]


def by_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AugGraphNorm, "normalize_padded", lambda *_: None)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("options", [{"phi": 1.2}, {}, {"phi": 3.0}, {"learn_phi": True}], ids=str)
def test_padded_batches_give_what_segments_give(
    options: dict[str, Any], dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, batch = some_graphs(dtype)
    layer = AugGraphNorm(6, tol="exact", **options).to(dtype)
    with torch.no_grad():
        for number, parameter in enumerate(layer.parameters()):
            parameter.add_(torch.linspace(-0.3, 0.2 * number, 6))
    found = results(layer, x, batch)
    assert layer.solver_statistics()["unconverged"] == 0
    by_segments(monkeypatch)
    tolerance = 1e-9 if dtype == torch.float64 else 2e-3
    torch.testing.assert_close(found, results(layer, x, batch), rtol=tolerance, atol=tolerance)


def test_the_bound_on_the_error_holds() -> None:
    x, batch = some_graphs(torch.float64)
    for tol in (0.02, 0.5):
        options = GraphOptions(1.5, 1e-6, steps=0, tol=tol)
        padding = padding_of(batch, len(SIZES))
        found, exact = (graphs.find_medians(x, None, padding, each) for each in (options, options._replace(tol=None)))
        assert found is not None
        assert exact is not None
        for near, best in zip(found, exact, strict=True):
            assert (near.state.done == 1).all()
            allowed = near.problem.sd / near.sizes.sqrt() * tol
            assert ((near.state.y - best.state.y).abs() <= allowed + 1e-12).all()


def test_values_of_extreme_size_go_by_segments() -> None:
    x, batch = some_graphs(torch.float32)
    layer = AugGraphNorm(6, eps=0.0)
    y = layer(x * 1e-15, batch, len(SIZES))
    several = torch.tensor(SIZES)[batch] > 1
    expected = layer(x, batch, len(SIZES))
    torch.testing.assert_close(y[several, :2], expected[several, :2], rtol=1e-3, atol=1e-3)


def test_a_value_that_is_not_finite_stays_in_its_graph() -> None:
    x, batch = some_graphs(torch.float32)
    x[(batch == 2).nonzero()[0], 0] = torch.nan
    y = AugGraphNorm(6)(x, batch, len(SIZES))
    broken = torch.isnan(y)
    assert broken[batch == 2, 0].all()
    assert not broken[batch != 2].any()
    assert not broken[:, 1:].any()


@pytest.mark.slow
def test_compiled_passes_give_what_uncompiled_ones_give(monkeypatch: pytest.MonkeyPatch) -> None:
    x, batch = some_graphs(torch.float32)
    layer = AugGraphNorm(6)
    for name in ("FIRST", "MORE", "COMPLETE", "BACKWARD"):
        kernel = getattr(graphs, name)
        monkeypatch.setattr(graphs, name, type(kernel)(kernel.function, open_dims=2))
    monkeypatch.setenv("NORMBENCH_COMPILE", "always")
    for part in (slice(None), (batch != 2) & (batch != 8)):  # one set of kernels for any sizes
        expected = results_uncompiled(layer, x[part], batch[part], monkeypatch)
        torch.testing.assert_close(results(layer, x[part], batch[part]), expected, rtol=1e-3, atol=1e-3)
    of_open_sizes = [key for key in graphs.FIRST.compiled if isinstance(key, tuple) and key[1]]
    assert len(of_open_sizes) == 1  # batches of one graph alone have a kernel for their shape


def results_uncompiled(layer: AugGraphNorm, x: Tensor, batch: Tensor, monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    with monkeypatch.context() as patched:
        patched.setenv("NORMBENCH_COMPILE", "never")
        return results(layer, x, batch)
