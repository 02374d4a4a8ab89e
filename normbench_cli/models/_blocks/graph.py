"""What networks of graphs are made of: parts called with (x, batch), whatever stands inside, and sums over neighbours.

A batch has `features` (nodes, tags), `adjacency` and `neighbours` (symmetric sparse matrices), `graph` (the graph of
each node) and `graphs` (how many).
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


class Batch(Protocol):
    """Graphs side by side, as the data sets cut them."""

    features: Tensor
    adjacency: Tensor
    neighbours: Tensor
    graph: Tensor
    graphs: int


class GraphSequence(nn.ModuleList):
    """Parts one after another, each called with (x, batch)."""

    def __init__(self, *parts: nn.Module) -> None:
        super().__init__(parts)

    def forward(self, x: Tensor, batch: Batch) -> Tensor:
        for part in self:
            x = part(x, batch)
        return x


class PerNode(nn.Module):
    """A layer that needs to know nothing of graphs: nodes are its rows."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor, batch: Batch) -> Tensor:
        y: Tensor = self.layer(x)
        return y


class PerGraph(nn.Module):
    """A norm that is told which graph each node belongs to."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor, batch: Batch) -> Tensor:
        y: Tensor = self.layer(x, batch.graph, batch.graphs)
        return y


class _Product(torch.autograd.Function):
    """S x for a symmetric sparse S, whose gradient is S dy: no transpose has to be made."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, x: Tensor) -> Tensor:
        ctx.matrix = matrix
        return times(matrix, x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor]:
        return None, times(ctx.matrix, grad)


def times(matrix: Tensor, x: Tensor) -> Tensor:
    """`matrix @ x`, written where it is to lie: `@` fills a matrix with zeros first and copies that once.  Torch has no
    sparse product on `meta`, where only shapes are asked for."""
    y = x.new_empty(x.shape)
    return y if x.device.type == "meta" else y.addmm_(matrix, x, beta=0)


def product(matrix: Tensor, x: Tensor) -> Tensor:
    y: Tensor = _Product.apply(matrix, x)
    return y


def sum_of_nodes(x: Tensor, batch: Batch) -> Tensor:
    """(nodes, features) -> (graphs, features)."""
    return x.new_zeros(batch.graphs, x.shape[1]).index_add(0, batch.graph, x)


class Dropout(nn.Module):
    """Dropout that can be given a random generator of its own, so that trainings side by side don't share one."""

    def __init__(self, p: float) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"dropout is {p}; give 0 or more, below 1")
        self.p = p
        self.generator: torch.Generator | None = None

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        kept = torch.empty_like(x).bernoulli_(1 - self.p, generator=self.generator)
        return x * kept / (1 - self.p)

    def extra_repr(self) -> str:
        return f"p={self.p}"


def check_sees(norm: nn.Module, features: int, name: str, of_graphs: bool) -> None:
    """Refuse a norm that gives the same for any data, as one over the positions of a sample does: a node has one."""
    x = torch.randn(4, features, generator=torch.Generator().manual_seed(0))
    graph = torch.tensor([0, 0, 1, 1])
    with torch.no_grad():
        try:
            y = norm(x, graph, 2) if of_graphs else norm(x)
        except ValueError as error:
            raise ValueError(f"norm '{name}' does not fit the nodes of a graph: {error}") from error
    if float((y - y[0]).abs().max()) <= 1e-3:  # rounding, which such a norm divides by a very small sd
        raise ValueError(
            f"norm '{name}' does not fit the nodes of a graph: its statistics are over values of which a node has one, "
            "so its output is the same for any data; use a norm over the batch, the graph or the features"
        )
