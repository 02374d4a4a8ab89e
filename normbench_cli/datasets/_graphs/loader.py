"""Batches of graphs, gathered from a data set that is stored as one disconnected graph.

Everything a batch needs (degrees, edge weights, graph offsets) is computed once; a batch is a few gathers.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class GraphBatch(NamedTuple):
    """Graphs joined into one disconnected graph.

    Both matrices are (nodes, nodes), symmetric, in torch's CSR format (compressed sparse rows).
    """

    features: Tensor  # (nodes, tags)
    normalized_adjacency: Tensor  # D^-1/2 (A + I) D^-1/2, where D holds the degrees of A + I
    adjacency: Tensor  # A + I
    graph_index: Tensor  # (nodes,): the graph of the batch that a node belongs to
    num_graphs: int


class GraphLoader:
    """Makes batches of any graphs of a data set, on a device.

    A batch's indices are computed with NumPy, whose small operations cost a tenth of torch's, and then moved to the
    device.
    """

    def __init__(
        self, features: Tensor, edge_index: Tensor, graph_index: Tensor, labels: Tensor, device: torch.device
    ) -> None:
        silence_csr_beta_warning()
        nodes, count = len(graph_index), len(labels)
        loops = torch.arange(nodes)
        source, target = torch.cat([edge_index, torch.stack([loops, loops])], 1)
        order = torch.argsort(source * nodes + target)
        source, target = source[order], target[order]
        degree = torch.bincount(source, minlength=nodes)
        scale = degree.float().rsqrt()
        self.device = device
        self.labels = labels.to(device)
        self._features = features.to(device)
        self._degree = degree.numpy()
        self._target = target.numpy()
        self._weight = (scale[source] * scale[target]).numpy()
        self._nodes = torch.bincount(graph_index, minlength=count).numpy()  # of each graph
        self._edges = torch.bincount(graph_index[source], minlength=count).numpy()
        self._first_node = self._nodes.cumsum() - self._nodes
        self._first_edge = self._edges.cumsum() - self._edges

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, chosen: Tensor) -> tuple[GraphBatch, Tensor]:
        """Return the chosen graphs (indices, on the CPU) as a batch, with their labels.

        An edge's target is stored as a node index in the data set and must become one in the batch.  With graphs of 3,
        1 and 2 nodes, `chosen` = [2, 0] gathers the nodes 4 5 0 1 2, which become 0 1 2 3 4: graph 2 shifts by
        0 - 4 = -4 and graph 0 by 2 - 0 = 2.  Each graph's shift is added to the targets of its edges.
        """
        graphs = chosen.numpy()
        nodes, edges = self._nodes[graphs], self._edges[graphs]
        node = member_indices(nodes, self._first_node[graphs])
        edge = member_indices(edges, self._first_edge[graphs])
        shift = nodes.cumsum() - nodes - self._first_node[graphs]
        target = self._to_device(self._target[edge] + np.repeat(shift, edges))
        row_starts = self._to_device(np.concatenate([[0], self._degree[node].cumsum()]))
        weight, size = self._to_device(self._weight[edge]), (len(node), len(node))
        return GraphBatch(
            features=self._features[self._to_device(node)],
            normalized_adjacency=torch.sparse_csr_tensor(row_starts, target, weight, size, check_invariants=False),
            adjacency=torch.sparse_csr_tensor(
                row_starts, target, torch.ones_like(weight), size, check_invariants=False
            ),
            graph_index=self._to_device(np.repeat(np.arange(len(nodes)), nodes)),
            num_graphs=len(nodes),
        ), self.labels[self._to_device(graphs)]

    def chunks(self, max_nodes: int) -> list[tuple[GraphBatch, Tensor]]:
        """All graphs in order, in batches of about `max_nodes` nodes: small enough for a processor's cache."""
        chunk = torch.from_numpy((self._nodes.cumsum() - 1) // max_nodes)
        return [self.batch((chunk == number).nonzero()[:, 0]) for number in torch.unique(chunk)]

    def _to_device(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(self.device)


def member_indices(counts: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Concatenate the ranges of `counts[i]` indices from `first[i]` on (nodes or edges of the chosen graphs).

    counts = [2, 3] and first = [7, 1] give 7 8 1 2 3: `arange(5)` = 0 1 2 3 4, plus each range's first index minus the
    total length of the ranges before it, 7 - 0 and 1 - 2.
    """
    ends = counts.cumsum()
    indices: np.ndarray = np.arange(ends[-1]) + np.repeat(first - (ends - counts), counts)
    return indices


def silence_csr_beta_warning() -> None:
    """Trigger and suppress torch's warning that CSR tensors are in beta, which is issued once per process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.sparse_csr_tensor([0, 0], [], [], (1, 1))
