"""A data set of graphs in memory, in one canonical form for all file formats."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from normbench_cli.datasets._graphs.loader import GraphLoader
from normbench_cli.errors import NormbenchError


@dataclass(frozen=True)
class GraphDataset:
    """Undirected graphs without self-loops, stored as one disconnected graph; every node has one tag."""

    name: str
    source: str  # the file that was read
    features: Tensor  # (nodes, tags): one-hot, tags in order of first appearance
    edge_index: Tensor  # (2, edges): every edge in both directions, sorted
    graph_index: Tensor  # (nodes,): the graph that a node belongs to, ascending
    labels: Tensor  # (graphs,): classes in order of first appearance
    classes: int

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def channels(self) -> int:
        return self.features.shape[1]

    def to(self, device: torch.device) -> GraphLoader:
        return GraphLoader(self.features, self.edge_index, self.graph_index, self.labels, device)


def make_graph_dataset(
    name: str,
    source: str,
    tags: Sequence[Hashable] | None,
    edges: Tensor,
    graph_index: Sequence[int],
    labels: Sequence[Hashable],
    degree: bool = False,
) -> GraphDataset:
    """Convert the contents of a file to the canonical form.

    edges: (2, n), in any order, in one direction or both, possibly repeated or from a node to itself.
    degree: use a node's degree as its tag, for sets whose nodes have none.
    """
    nodes = len(graph_index)
    both = torch.cat([edges, edges.flip(0)], 1)
    keys = torch.unique(both[0] * nodes + both[1])  # one number per edge: `unique` sorts and deduplicates them
    edge_index = torch.stack([keys // nodes, keys % nodes])
    edge_index = edge_index[:, edge_index[0] != edge_index[1]]
    if degree:
        tags = torch.bincount(edge_index[0], minlength=nodes).tolist()
    if tags is None:
        raise NormbenchError(
            f"the nodes of {name} in {source} have no labels", f"write {name.lower()}:degree=true to use their degrees"
        )
    tag_indices, classes = order_of_appearance(tags), order_of_appearance(labels)
    return GraphDataset(
        name=name,
        source=source,
        features=torch.nn.functional.one_hot(tag_indices, int(tag_indices.max()) + 1).float(),
        edge_index=edge_index,
        graph_index=torch.tensor(graph_index),
        labels=classes,
        classes=int(classes.max()) + 1,
    )


def order_of_appearance(values: Sequence[Hashable]) -> Tensor:
    """Number the distinct values in order of first appearance: C, N, C, O -> 0, 1, 0, 2."""
    indices: dict[Hashable, int] = {}
    return torch.tensor([indices.setdefault(value, len(indices)) for value in values])
