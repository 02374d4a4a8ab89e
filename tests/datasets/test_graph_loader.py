"""Batches of graphs equal the dense formulas, and chunks hold every graph in order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from normbench_cli.datasets._graphs.dataset import GraphDataset, make_graph_dataset
from normbench_cli.datasets._graphs.loader import member_indices
from tests.datasets.made_files import GRAPHS, load_toy, write_tu

CPU = torch.device("cpu")


def dense(data: GraphDataset, chosen: tuple[int, ...]) -> tuple[Tensor, ...]:
    """Features, D^-1/2 (A + I) D^-1/2, A + I and labels of the chosen graphs, without sparse matrices."""
    kept = torch.cat([(data.graph_index == number).nonzero()[:, 0] for number in chosen])
    a = torch.eye(len(data.graph_index))
    a[data.edge_index[0], data.edge_index[1]] = 1
    a = a[kept][:, kept]
    scale = a.sum(1).rsqrt()
    return data.features[kept], scale[:, None] * a * scale, a, data.labels[list(chosen)]


@pytest.mark.parametrize("chosen", [(0, 1, 2), (2, 0), (1,), (2, 1)])
def test_a_batch_equals_the_dense_formulas(data_folder: Path, chosen: tuple[int, ...]) -> None:
    write_tu(data_folder / "TOY")
    data = load_toy()
    features, normalized_adjacency, adjacency, labels = dense(data, chosen)
    batch, found = data.to(CPU).batch(torch.tensor(chosen))
    torch.testing.assert_close(batch.features, features)
    torch.testing.assert_close(batch.normalized_adjacency.to_dense(), normalized_adjacency)
    torch.testing.assert_close(batch.adjacency.to_dense(), adjacency)
    assert torch.bincount(batch.graph_index).tolist() == [len(GRAPHS[number].tags) for number in chosen]
    assert torch.equal(found, labels)
    assert batch.num_graphs == len(chosen)


def test_without_edges_every_node_is_its_own_neighbor() -> None:
    data = make_graph_dataset("LONE", "nowhere", [0, 1], torch.zeros(2, 0, dtype=torch.int64), [0, 1], [0, 1])
    batch, _ = data.to(CPU).batch(torch.tensor([1, 0]))
    torch.testing.assert_close(batch.normalized_adjacency.to_dense(), torch.eye(2))


def test_chunks_hold_all_graphs_in_order(data_folder: Path) -> None:
    write_tu(data_folder / "TOY")
    chunks = load_toy().to(CPU).chunks(4)
    assert torch.equal(torch.cat([labels for _, labels in chunks]), load_toy().labels)
    assert [len(batch.features) for batch, _ in chunks] == [4, 4]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 50)), min_size=1))
def test_member_indices_are_one_range_a_group(groups: list[tuple[int, int]]) -> None:
    counts, first = (np.array(column) for column in zip(*groups, strict=True))
    expected = [index for count, start in groups for index in range(start, start + count)]
    assert member_indices(counts, first).tolist() == expected
