"""The two text formats of graphs: they agree, and an error names the file and the line."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from normbench_cli.errors import NormbenchError
from tests.datasets.made_files import load_toy, write_text, write_tu

TENSORS = ("features", "edge_index", "graph_index", "labels")


def test_graphs_are_brought_into_canonical_form(data_folder: Path) -> None:
    write_tu(data_folder / "TOY")
    data = load_toy()
    assert data.graph_index.tolist() == [0, 0, 0, 0, 1, 2, 2, 2]
    assert data.features.argmax(1).tolist() == [0, 1, 0, 2, 1, 2, 2, 0]  # tags in order of first appearance
    assert data.labels.tolist() == [0, 1, 0]
    assert data.edge_index.tolist() == [[0, 1, 1, 2, 5, 5, 6, 6, 7, 7], [1, 0, 2, 1, 6, 7, 5, 7, 5, 6]]
    assert (len(data), data.channels, data.classes) == (3, 3, 2)


def test_both_formats_give_identical_tensors(data_folder: Path) -> None:
    write_tu(data_folder / "TUDataset/TOY/raw")
    write_text(data_folder / "TOY/TOY.txt")
    tu, text = load_toy("tu:name=TOY,source=tu"), load_toy("tu:name=TOY,source=powerful-gnns")
    assert text.source.endswith("TOY.txt")
    for name in TENSORS:
        torch.testing.assert_close(getattr(tu, name), getattr(text, name), rtol=0, atol=0)


def test_sets_without_node_labels_use_degrees_on_request(data_folder: Path) -> None:
    (write_tu(data_folder / "TOY") / "TOY_node_labels.txt").unlink()
    with pytest.raises(NormbenchError, match=r"have no labels; write .*degree=true"):
        load_toy()
    write_text(data_folder / "TOY.txt")
    for source in ("tu", "powerful-gnns"):
        data = load_toy(f"tu:name=TOY,degree=true,source={source}")
        assert data.features.argmax(1).tolist() == [0, 1, 0, 2, 2, 1, 1, 1]  # degrees 1 2 1 0, 0, 2 2 2


def test_one_way_and_repeated_edges_and_loops_become_simple_and_undirected(data_folder: Path) -> None:
    folder = write_tu(data_folder / "TOY")
    (folder / "TOY_A.txt").write_text("1, 2\n3, 2\n2, 3\n3, 2\n4, 4\n")
    assert load_toy().edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]


@pytest.mark.parametrize(
    ("part", "old", "new", "place", "message"),
    [
        ("A", "6, 8", "1, 8", r"TOY_A\.txt, line 9", "from graph 1 to graph 3"),
        ("A", "6, 8", "6, 9", r"TOY_A\.txt, line 9", "node 9 does not exist"),
        ("A", "6, 8", "6, 0", r"TOY_A\.txt, line 9", "node 0 does not exist"),
        ("A", "6, 8", "6", r"TOY_A\.txt, line 9", "expected 2 numbers, found 1"),
        ("A", "6, 8", "6, x", r"TOY_A\.txt, line 9", "not whole numbers"),
        ("A", "6, 8", "", r"TOY_A\.txt, line 9", "not whole numbers"),
        ("node_labels", "5\n0\n5\n", "5\n0\n", r"TOY_node_labels\.txt, line 8", "7 node labels, .* 8 nodes"),
        ("node_labels", "5\n0\n5\n", "5\n0\n5\n5\n", r"TOY_node_labels\.txt, line 9", "9 node labels"),
        ("graph_labels", "-1\n", "", r"TOY_graph_labels\.txt, line 3", "2 graph labels, .* 3 graphs"),
        ("graph_labels", "-1\n", "-1\n1\n", r"TOY_graph_labels\.txt, line 4", "4 graph labels"),
        ("graph_indicator", "2\n", "3\n", r"TOY_graph_indicator\.txt, line 5", "graph 3 after graph 1"),
        ("graph_indicator", "1\n1\n1\n1\n", "1\n2\n1\n1\n", r"TOY_graph_indicator\.txt, line 3", "graph 1 after"),
        ("graph_indicator", "1\n1\n1\n1\n2\n3\n3\n3\n", "", r"TOY_graph_indicator\.txt", "names no node"),
    ],
)
def test_an_error_in_a_tu_file_is_reported_with_its_line(
    data_folder: Path, part: str, old: str, new: str, place: str, message: str
) -> None:
    path = write_tu(data_folder / "TOY") / f"TOY_{part}.txt"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(NormbenchError, match=f"{place}.*{message}"):
        load_toy()


def test_a_missing_file_and_one_that_is_not_text_are_named(data_folder: Path) -> None:
    folder = write_tu(data_folder / "TOY")
    (folder / "TOY_graph_labels.txt").unlink()
    with pytest.raises(NormbenchError, match=r"TOY_graph_labels\.txt cannot be read: No such file"):
        load_toy()
    (folder / "TOY_graph_labels.txt").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(NormbenchError, match="it is not text"):
        load_toy()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("3\n", "4\n", "line 13: the file ends where the size and label of graph 4 of 4"),
        ("3\n", "2\n", "line 9: more lines than"),
        ("0 2 0 2", "0 3 0 2", "line 4: 3 neighbors are announced, and 2 follow"),
        ("0 2 0 2", "0 2 0 4", "line 4: neighbor 4 is outside the graph"),
        ("0 2 0 2", "0 two 0 2", "line 4: '0 two 0 2' is not whole numbers"),
        ("1 -1", "1", "line 7: '1' where the size and label"),
        ("1 -1", "0 -1", "line 7: graph 2 has 0 nodes"),
    ],
)
def test_an_error_in_a_powerful_gnns_file_is_reported_with_its_line(
    data_folder: Path, old: str, new: str, message: str
) -> None:
    path = write_text(data_folder / "TOY.txt")
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(NormbenchError, match=rf"TOY\.txt, {message}"):
        load_toy("tu:name=TOY,source=powerful-gnns")
