"""Small generated graphs: a graph data set that needs no download and trains in seconds."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import torch

from normbench_cli.datasets._graphs.dataset import GraphDataset, make_graph_dataset
from normbench_cli.registry import DATASETS
from normbench_cli.registry.bounds import Bounds, Seed

LEAST_NODES, MOST_NODES, TAGS = 5, 12, 3
CHORDS = 3  # edges across the ring, in the graphs of the second class


@DATASETS.register("toy_graphs", graphs=True, recipe="augnorm-graph")
def toy_graphs(graphs: Annotated[int, Bounds(least=4, most=100_000)] = 40, draw: Seed = 0) -> GraphDataset:
    """Does a ring of 5 to 12 nodes have chords?  Generated graphs, half of each class, with 3 kinds of nodes at random.

    graphs: how many; draw: the seed.
    """
    rng = np.random.RandomState(draw)
    edges: list[tuple[int, int]] = []
    owners: list[int] = []
    for graph in range(graphs):
        first, nodes = len(owners), int(rng.randint(LEAST_NODES, MOST_NODES + 1))
        edges += [(first + node, first + (node + 1) % nodes) for node in range(nodes)]
        if graph % 2:
            edges += [(first + node, first + (node + nodes // 2) % nodes) for node in rng.permutation(nodes)[:CHORDS]]
        owners += [graph] * nodes
    return make_graph_dataset(
        name="toy_graphs",
        source=f"generated, draw {draw}",
        tags=rng.randint(0, TAGS, len(owners)).tolist(),
        edges=torch.tensor(edges).T,
        graph_index=owners,
        labels=[graph % 2 for graph in range(graphs)],
    )
