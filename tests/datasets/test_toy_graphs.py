"""The generated graphs: balanced, the same in every process, and other ones for another draw."""

from __future__ import annotations

import pytest
import torch

from normbench_cli.datasets.toy_graphs import CHORDS, LEAST_NODES, MOST_NODES, toy_graphs


def test_half_of_the_graphs_are_rings_and_half_have_chords() -> None:
    data = toy_graphs(20)
    nodes = torch.bincount(data.graph_index)
    edges = torch.bincount(data.graph_index[data.edge_index[0]]) // 2
    assert (len(data), data.classes, data.channels) == (20, 2, 3)
    assert LEAST_NODES <= int(nodes.min()) <= int(nodes.max()) <= MOST_NODES
    more = edges - nodes
    assert set(more[data.labels == 0].tolist()) == {0}
    assert set(more[data.labels == 1].tolist()) <= set(range(1, CHORDS + 1))


def test_a_draw_is_always_the_same_and_another_is_not() -> None:
    first, again, other = toy_graphs(), toy_graphs(), toy_graphs(draw=1)
    assert torch.equal(first.edge_index, again.edge_index)
    assert torch.equal(first.features, again.features)
    assert first.edge_index.shape != other.edge_index.shape or not torch.equal(first.edge_index, other.edge_index)


def test_too_few_graphs_are_refused() -> None:
    with pytest.raises(ValueError, match="graphs is 3; give 4"):
        toy_graphs(3)
