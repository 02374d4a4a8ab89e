"""AugGraphNorm: GraphNorm at phi = 2, each graph its own median, right gradients."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck
from torch.func import functional_call

from normbench_cli.norms._ggm.median import generalized_median
from normbench_cli.norms._ggm.segmented import STEPS_TOGETHER, segmented_median
from normbench_cli.norms.auggraphnorm import AugGraphNorm
from tests.norms.gradients import grad_of

BATCH = torch.tensor([0] * 5 + [1] * 4 + [2] * 3 + [3])


def test_phi_2_is_graphnorm() -> None:
    with warnings.catch_warnings():  # its import uses what torch has deprecated
        warnings.simplefilter("ignore")
        GraphNorm = pytest.importorskip("torch_geometric.nn").GraphNorm
    torch.manual_seed(0)
    x = torch.randn(13, 3)
    ours, theirs = AugGraphNorm(3, phi=2.0, eps=1e-5), GraphNorm(3, eps=1e-5)
    for alpha in (1.0, 0.3):
        torch.nn.init.constant_(ours.alpha, alpha)
        torch.nn.init.constant_(theirs.mean_scale, alpha)
        assert torch.allclose(ours(x, BATCH, 4), theirs(x, BATCH), atol=1e-5)


@pytest.mark.parametrize("phi", [1.05, 1.2, 1.5, 3.0])
@pytest.mark.parametrize("tied", [False, True])
def test_each_segment_finds_its_own_median(phi: float, tied: bool) -> None:
    torch.manual_seed(0)
    x = torch.randint(0, 3, (13, 4)).double() if tied else torch.randn(13, 4, dtype=torch.float64)
    found = segmented_median(x, phi, BATCH, 4, stop_early=True)
    assert found.converged.all()
    for graph in range(4):
        assert torch.allclose(found.mu[graph], generalized_median(x[graph == BATCH], phi), atol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("phi", [1.2, 1.5, torch.tensor([1.1, 1.3, 1.7, 2.0, 4.0])])
def test_searching_for_the_last_medians_alone_gives_the_same(phi: Tensor | float, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    batch = torch.randint(0, 40, (300,))  # in no order, and the last segments are empty
    x = torch.cat([torch.randn(200, 5), torch.randint(0, 3, (100, 5))]).to(dtype)
    alone, together = (segmented_median(x, phi, batch, 43, stop_early=stop_early) for stop_early in (True, False))
    assert alone.iterations.max() > STEPS_TOGETHER
    assert alone.converged.all()
    assert (alone.mu[40:] == 0).all()  # of no nodes
    torch.testing.assert_close(alone, together, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("learn_phi", [False, True])
def test_gradients(learn_phi: bool) -> None:
    torch.manual_seed(0)
    layer = AugGraphNorm(3, learn_phi=learn_phi, tol="exact").double()
    names = [name for name, _ in layer.named_parameters()]
    values = [(p + 0.2 * torch.randn_like(p)).detach().requires_grad_() for p in layer.parameters()]
    x = torch.randn(13, 3, dtype=torch.float64, requires_grad=True)
    call = lambda x, *p: functional_call(layer, dict(zip(names, p, strict=True)), (x, BATCH))  # noqa: E731
    assert gradcheck(call, (x, *values))


def test_number_of_graphs_is_read_from_the_batch_where_it_is_not_given() -> None:
    layer, x = AugGraphNorm(3), torch.randn(13, 3)
    assert torch.equal(layer(x, BATCH), layer(x, BATCH, 4))
    alone = torch.zeros(13, dtype=torch.long)
    assert torch.equal(layer(x), layer(x, alone, 1))
    assert layer.solver_statistics()["unconverged"] == 0


@pytest.mark.parametrize("options", [{}, {"learn_phi": True}, {"solver": "newton:iterations=30"}])
def test_graphs_without_nodes_do_not_change_the_output_or_gradients(options: dict[str, Any]) -> None:
    torch.manual_seed(0)
    layer, x, batch = AugGraphNorm(3, tol="exact", **options), torch.randn(13, 3), BATCH * 2
    found = []
    for graphs, of_nodes in ((4, BATCH), (8, batch)):
        y = layer(x, of_nodes, graphs)
        found.append([y, *torch.autograd.grad(y.square().sum(), list(layer.parameters()))])
        assert layer.solver_statistics()["residual"] <= 1e-4
    torch.testing.assert_close(*found)


def test_forward_and_backward_read_no_value() -> None:
    layer = AugGraphNorm(3).to("meta")
    x = torch.randn(13, 3, device="meta", requires_grad=True)
    layer(x, BATCH.to("meta"), 4).sum().backward()
    assert grad_of(x).shape == x.shape


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # torch's own tracer does
def test_no_graph_break() -> None:
    layer, x = AugGraphNorm(3, tol="exact"), torch.randn(13, 3)
    traced = torch.compile(layer, fullgraph=True, backend="aot_eager")
    assert torch.allclose(traced(x, BATCH, 4), layer(x, BATCH, 4), atol=1e-4)


@pytest.mark.parametrize("phi", [1.0, 0.5, float("inf")])
def test_phi_without_a_search_is_refused(phi: float) -> None:
    with pytest.raises(ValueError, match="phi"):
        AugGraphNorm(3, phi=phi)
