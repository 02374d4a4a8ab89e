"""Building blocks of graph networks: modules called with (x, batch), sums over neighbors and over a graph's nodes.

x is (nodes, features).  `GraphInput` lists the attributes of a batch that the blocks read.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


class GraphInput(Protocol):
    """A batch of graphs, joined into one disconnected graph."""

    @property
    def features(self) -> Tensor:
        """(nodes, tags)."""

    @property
    def normalized_adjacency(self) -> Tensor:
        """D^-1/2 (A + I) D^-1/2, where D holds the degrees of A + I: (nodes, nodes), sparse, symmetric."""

    @property
    def adjacency(self) -> Tensor:
        """A + I: (nodes, nodes), sparse, symmetric."""

    @property
    def graph_index(self) -> Tensor:
        """(nodes,): the graph that each node belongs to."""

    @property
    def num_graphs(self) -> int: ...


class GraphSequence(nn.ModuleList):
    """Modules in sequence, each called with (x, batch)."""

    def __init__(self, *parts: nn.Module) -> None:
        super().__init__(parts)

    def forward(self, x: Tensor, batch: GraphInput) -> Tensor:
        for part in self:
            x = part(x, batch)
        return x


class PerNode(nn.Module):
    """A layer that treats every node as a row and ignores the graphs."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor, batch: GraphInput) -> Tensor:
        y: Tensor = self.layer(x)
        return y


class PerGraph(nn.Module):
    """A norm whose statistics are over the nodes of each graph."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor, batch: GraphInput) -> Tensor:
        y: Tensor = self.layer(x, batch.graph_index, batch.num_graphs)
        return y


class SymmetricSpMM(torch.autograd.Function):
    """S x for a sparse symmetric S.  The gradient is S dy, so no transpose is computed."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, x: Tensor) -> Tensor:
        ctx.matrix = matrix
        return spmm(matrix, x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor]:
        return None, spmm(ctx.matrix, grad)


def spmm(matrix: Tensor, x: Tensor) -> Tensor:
    """`matrix @ x`, written directly into the result: `@` would first fill a matrix with zeros and copy it.

    Torch has no sparse product on `meta`, where only the shape matters.
    """
    y = x.new_empty(x.shape)
    return y if x.device.type == "meta" else y.addmm_(matrix, x, beta=0)


def symmetric_spmm(matrix: Tensor, x: Tensor) -> Tensor:
    y: Tensor = SymmetricSpMM.apply(matrix, x)  # type: ignore[no-untyped-call]
    return y


def global_add_pool(x: Tensor, batch: GraphInput) -> Tensor:
    """The sum over each graph's nodes: (nodes, features) -> (graphs, features)."""
    return x.new_zeros(batch.num_graphs, x.shape[1]).index_add(0, batch.graph_index, x)


class Dropout(nn.Module):
    """Dropout with an optional random generator of its own, so that concurrent training runs do not share one."""

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


def reject_degenerate_norm(norm: nn.Module, features: int, name: str, per_graph: bool) -> None:
    """Reject a norm whose output does not depend on the data.

    For example a norm over the positions of a sample: a node has a single position, so nothing is left of its value.
    """
    x = torch.randn(4, features, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    norm.double()  # so that rounding errors are far below any norm's output
    graph_index = torch.tensor([0, 0, 1, 1])
    with torch.no_grad():
        try:
            y = norm(x, graph_index, 2) if per_graph else norm(x)
        except ValueError as error:
            raise ValueError(f"norm '{name}' does not fit the nodes of a graph: {error}") from error
    if float((y - y[0]).abs().max()) <= 1e-9:  # not 0: such a norm divides rounding errors by a very small sd
        raise ValueError(
            f"norm '{name}' does not fit the nodes of a graph: its statistics are over values of which a node has one, "
            "so its output is the same for any data; use a norm over the batch, the graph or the features"
        )
