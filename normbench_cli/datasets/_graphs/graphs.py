"""Graphs to classify, held in memory in one canonical form, and the batches that are cut from them.

All graphs of a set lie one behind another, as one graph of many unconnected parts.  What a batch needs of them
(degrees, weights, where each graph begins) is worked out once; a batch is then a few gathers.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from normbench_cli.errors import NormbenchError


@dataclass(frozen=True)
class GraphDataset:
    """Undirected graphs without self-loops; nodes carry a tag, one-hot; nodes and edges are in order."""

    name: str
    source: str  # the file that was read
    features: Tensor  # (nodes, tags): one-hot, tags in order of first appearance
    edge_index: Tensor  # (2, edges): every edge in both directions, sorted
    graph: Tensor  # (nodes,): which graph a node belongs to, ascending
    labels: Tensor  # (graphs,): classes in order of first appearance
    classes: int

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def channels(self) -> int:
        return self.features.shape[1]

    def to(self, device: torch.device) -> Sliceable:
        return Sliceable(self, device)

    def summary(self) -> str:
        """One line: what is in it, and which file it came from."""
        return (
            f"{self.name}: {len(self)} graphs, {len(self.graph)} nodes ({len(self.graph) / len(self):.2f} a graph), "
            f"{self.edge_index.shape[1]} edges, {self.channels} tags, {self.classes} classes; from {self.source}"
        )


class GraphBatch(NamedTuple):
    """Some graphs side by side.  Both matrices are (nodes, nodes), symmetric, compressed by rows."""

    features: Tensor  # (nodes, tags)
    adjacency: Tensor  # D^-1/2 (A + I) D^-1/2, D the degrees of A + I
    neighbours: Tensor  # A + I
    graph: Tensor  # (nodes,): which graph of the batch a node belongs to
    graphs: int


class Sliceable:
    """A data set ready to be cut into batches.

    Where things go in a batch is worked out with NumPy, whose small operations cost a tenth of torch's; the results
    then move to the device.
    """

    def __init__(self, data: GraphDataset, device: torch.device) -> None:
        quiet_about_csr()
        nodes, count = len(data.graph), len(data)
        loops = torch.arange(nodes)
        source, target = torch.cat([data.edge_index, torch.stack([loops, loops])], 1)
        order = torch.argsort(source * nodes + target)
        source, target = source[order], target[order]
        degree = torch.bincount(source, minlength=nodes)
        scale = degree.float().rsqrt()
        self.device, self.labels = device, data.labels.to(device)
        self._features = data.features.to(device)
        self._degree, self._target = degree.numpy(), target.numpy()
        self._weight = (scale[source] * scale[target]).numpy()
        self._nodes = torch.bincount(data.graph, minlength=count).numpy()
        self._edges = torch.bincount(data.graph[source], minlength=count).numpy()
        self._first_node, self._first_edge = (c.cumsum() - c for c in (self._nodes, self._edges))

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, chosen: Tensor) -> tuple[GraphBatch, Tensor]:
        """The chosen graphs (numbers, on the CPU) side by side, with their labels."""
        numbers = chosen.numpy()
        nodes, edges = self._nodes[numbers], self._edges[numbers]
        node, edge = members(nodes, self._first_node[numbers]), members(edges, self._first_edge[numbers])
        moved = nodes.cumsum() - nodes - self._first_node[numbers]  # by how much a graph's node numbers change
        target = self._put(self._target[edge] + np.repeat(moved, edges))
        ends = self._put(np.concatenate([[0], self._degree[node].cumsum()]))
        weight, size = self._put(self._weight[edge]), (len(node), len(node))
        return GraphBatch(
            self._features[self._put(node)],
            torch.sparse_csr_tensor(ends, target, weight, size, check_invariants=False),
            torch.sparse_csr_tensor(ends, target, torch.ones_like(weight), size, check_invariants=False),
            self._put(np.repeat(np.arange(len(nodes)), nodes)),
            len(nodes),
        ), self.labels[self._put(numbers)]

    def pieces(self, most_nodes: int) -> list[tuple[GraphBatch, Tensor]]:
        """All graphs in order, in batches of about `most_nodes`: small enough to stay in a processor's cache."""
        part = torch.from_numpy((self._nodes.cumsum() - 1) // most_nodes)
        return [self.batch((part == number).nonzero()[:, 0]) for number in part.unique()]

    def _put(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(self.device)


def members(counts: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The numbers of all that belongs to some graphs, of which each owns `counts` in a row from `first` on."""
    ends = counts.cumsum()
    return np.arange(ends[-1]) + np.repeat(first - (ends - counts), counts)


def assemble(
    name: str,
    source: str,
    tags: Sequence[Hashable] | None,
    edges: Tensor,
    graph: Sequence[int],
    labels: Sequence[Hashable],
    degree: bool = False,
) -> GraphDataset:
    """The canonical form, whatever order a file keeps.

    degree: a node's degree is its tag, for sets whose nodes have none.
    """
    nodes = len(graph)
    both = torch.cat([edges, edges.flip(0)], 1)
    keys = torch.unique(both[0] * nodes + both[1])  # sorted, each once
    edge_index = torch.stack([keys // nodes, keys % nodes])
    edge_index = edge_index[:, edge_index[0] != edge_index[1]]
    if degree:
        tags = torch.bincount(edge_index[0], minlength=nodes).tolist()
    if tags is None:
        raise NormbenchError(
            f"the nodes of {name} in {source} have no labels", f"write {name.lower()}:degree=true to use their degrees"
        )
    kinds, classes = in_order(tags), in_order(labels)
    return GraphDataset(
        name=name,
        source=source,
        features=torch.nn.functional.one_hot(kinds, int(kinds.max()) + 1).float(),
        edge_index=edge_index,
        graph=torch.tensor(graph),
        labels=classes,
        classes=int(classes.max()) + 1,
    )


def quiet_about_csr() -> None:
    """Torch says once in a process that its compressed matrices are in beta; let that be now, unheard."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.sparse_csr_tensor([0, 0], [], [], (1, 1))


def in_order(values: Sequence[Hashable]) -> Tensor:
    """0 for the value that appears first, 1 for the next new one, ..."""
    numbers: dict[Hashable, int] = {}
    return torch.tensor([numbers.setdefault(value, len(numbers)) for value in values])
