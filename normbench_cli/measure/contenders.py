"""How a layer from any library is called: with an input alone, or with nodes of graphs and the graph of each node."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import torch
from torch import Tensor, nn

NODES_PER_GRAPH = 18  # as in MUTAG
Call = Callable[[Tensor], Tensor]


def call_of(layer: nn.Module, shape: tuple[int, ...], device: torch.device) -> Call:
    """The layer as a function of its input.

    A layer whose second argument is called `batch`, here and in torch_geometric, normalizes within graphs.  It gets the
    graph of each node, and the number of graphs if it takes one; the input is then (nodes, features).
    """
    names = list(inspect.signature(layer.forward).parameters)
    if len(shape) != 2 or names[1:2] != ["batch"]:
        return layer
    graphs = number_of_graphs(shape[0])
    graph_index = torch.arange(shape[0], device=device) * graphs // shape[0]
    more = (graphs,) if len(names) > 2 else ()
    return lambda x: layer(x, graph_index, *more)


def number_of_graphs(nodes: int) -> int:
    """The number of graphs of typical size into which to divide the nodes."""
    return max(1, round(nodes / NODES_PER_GRAPH))
