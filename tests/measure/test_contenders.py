"""How layers are called: with graphs where their second argument is `batch`, as in torch_geometric."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from normbench_cli.measure.contenders import call_of, number_of_graphs
from normbench_cli.registry import NORMS

CPU = torch.device("cpu")


class OfGraphs(nn.Module):
    """Notes which graphs it is called with, as torch_geometric's norms are."""

    def forward(self, x: Tensor, batch: Tensor | None = None, batch_size: int | None = None) -> Tensor:
        self.batch, self.batch_size = batch, batch_size
        return x


class WithoutCount(OfGraphs):
    def forward(self, x: Tensor, batch: Tensor | None = None) -> Tensor:  # type: ignore[override]
        return super().forward(x, batch)


def test_nodes_are_divided_evenly_into_graphs() -> None:
    layer = OfGraphs()
    call_of(layer, (90, 3), CPU)(torch.zeros(90, 3))
    assert layer.batch is not None
    assert torch.bincount(layer.batch).tolist() == [18] * 5
    assert layer.batch_size == 5
    assert bool((layer.batch.diff() >= 0).all())


def test_a_layer_that_does_not_take_the_number_of_graphs_is_not_given_it() -> None:
    layer = WithoutCount()
    call_of(layer, (40, 3), CPU)(torch.zeros(40, 3))
    assert layer.batch is not None
    assert int(layer.batch.max()) + 1 == 2


@pytest.mark.parametrize(("layer", "shape"), [(OfGraphs(), (8, 3, 4, 4)), (nn.BatchNorm1d(3), (8, 3))])
def test_images_and_ordinary_layers_have_no_graphs(layer: nn.Module, shape: tuple[int, ...]) -> None:
    assert call_of(layer, shape, CPU) is layer


@pytest.mark.parametrize("norm", ["graphnorm", "auggraphnorm", "batchnorm"])
def test_norms_of_the_registry_are_called_with_their_graphs(norm: str) -> None:
    x = torch.randn(40, 3)
    assert call_of(NORMS.build(norm, num_features=3), (40, 3), CPU)(x).shape == x.shape


@pytest.mark.parametrize(("nodes", "graphs"), [(1, 1), (18, 1), (36, 2), (2304, 128)])
def test_graphs_have_about_eighteen_nodes(nodes: int, graphs: int) -> None:
    assert number_of_graphs(nodes) == graphs
