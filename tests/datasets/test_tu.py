"""Graph data sets: the formats agree, what is in them is right, and broken files say where they are broken."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from normbench_cli.datasets import DATASETS
from normbench_cli.datasets._graphs.dataset import GraphDataset, make_graph_dataset
from normbench_cli.datasets.tu import text_file, tu_folder
from normbench_cli.errors import NormbenchError, UsageError

CPU = torch.device("cpu")
# label, tags of the nodes, edges: a path with an isolated node, a single node, a triangle
GRAPHS = [(1, [5, 0, 5, 2], [(0, 1), (1, 2)]), (-1, [0], []), (1, [2, 2, 5], [(0, 1), (1, 2), (0, 2)])]
TENSORS = ("features", "edge_index", "graph_index", "labels")
REAL = {"mutag": (188, 3371, 7442, 7, [125, 63]), "proteins": (1113, 43471, 162088, 3, [663, 450])}


def write_tu(folder: Path, graphs: list[tuple[int, list[Any], list[Any]]] = GRAPHS, name: str = "TOY") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    tags, owners, edges = [], [], []
    for number, (_, nodes, pairs) in enumerate(graphs, 1):
        edges += [(len(tags) + a + 1, len(tags) + b + 1) for pair in pairs for a, b in (pair, pair[::-1])]
        tags += nodes
        owners += [number] * len(nodes)
    parts = {
        "A": [f"{a}, {b}" for a, b in edges],
        "graph_indicator": owners,
        "graph_labels": [label for label, *_ in graphs],
        "node_labels": tags,
    }
    for part, lines in parts.items():
        (folder / f"{name}_{part}.txt").write_text("".join(f"{line}\n" for line in lines))
    return folder


def write_text(path: Path, graphs: list[tuple[int, list[Any], list[Any]]] = GRAPHS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [str(len(graphs))]
    for label, tags, pairs in graphs:
        lines.append(f"{len(tags)} {label}")
        for node, tag in enumerate(tags):
            near = [b if a == node else a for a, b in pairs if node in (a, b)]
            lines.append(" ".join(map(str, [tag, len(near), *near])))
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NORMBENCH_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def geometric() -> ModuleType:
    """torch_geometric's data sets; importing them uses what torch has deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch_geometric.datasets
    return torch_geometric.datasets


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch, geometric: ModuleType) -> None:
    def fail(*_: str) -> None:
        raise ConnectionError

    monkeypatch.setattr(geometric, "TUDataset", fail)


def toy(spec: str = "tu:name=TOY") -> GraphDataset:
    return DATASETS.build(spec)


def test_what_is_read_is_in_canonical_form(root: Path) -> None:
    write_tu(root / "TOY")
    data = toy()
    assert data.graph_index.tolist() == [0, 0, 0, 0, 1, 2, 2, 2]
    assert data.features.argmax(1).tolist() == [0, 1, 0, 2, 1, 2, 2, 0]  # tags in order of first appearance
    assert data.labels.tolist() == [0, 1, 0]
    assert data.edge_index.tolist() == [[0, 1, 1, 2, 5, 5, 6, 6, 7, 7], [1, 0, 2, 1, 6, 7, 5, 7, 5, 6]]
    assert (len(data), data.channels, data.classes) == (3, 3, 2)


@pytest.mark.parametrize("place", ["TOY", "TOY/raw", "TUDataset/TOY/raw", "TUDataset/TOY", "TOY/TOY"])
def test_the_collections_files_are_found_in_every_place(root: Path, place: str) -> None:
    write_tu(root / place)
    assert toy().source == str(root / place / "TOY_A.txt")


def test_both_text_formats_give_identical_tensors(root: Path) -> None:
    write_tu(root / "TUDataset/TOY/raw")
    write_text(root / "TOY/TOY.txt")
    tu, text = toy("tu:name=TOY,source=tu"), toy("tu:name=TOY,source=powerful-gnns")
    assert text.source.endswith("TOY.txt")
    for name in TENSORS:
        torch.testing.assert_close(getattr(tu, name), getattr(text, name), rtol=0, atol=0)


def test_torch_geometric_reads_the_same_graphs(root: Path, geometric: ModuleType) -> None:
    write_tu(root / "TUDataset/TOY/raw", [*GRAPHS[::2], (-1, [0, 2], [(0, 1)])])  # it cannot read an isolated last node
    theirs, ours = geometric.TUDataset(str(root / "TUDataset"), "TOY"), toy()
    assert theirs.y.tolist() == [1 - label for label in ours.labels.tolist()]  # it sorts the classes
    kinds = theirs.x[:, theirs.x.any(0)]  # it has a column for every number up to the largest tag
    assert torch.equal(kinds.sum(0).sort().values, ours.features.sum(0).sort().values)
    first = torch.cat([torch.zeros(1, dtype=torch.int64), torch.bincount(ours.graph_index).cumsum(0)])
    together = torch.cat([graph.edge_index + first[i] for i, graph in enumerate(theirs)], 1)
    assert torch.equal(together, ours.edge_index)


def test_a_missing_set_is_downloaded_through_torch_geometric(
    root: Path, monkeypatch: pytest.MonkeyPatch, geometric: ModuleType
) -> None:
    monkeypatch.setattr(geometric, "TUDataset", lambda to, name: write_tu(Path(to) / name / "raw", name=name))
    assert toy("mutag").source == str(root / "TUDataset" / "MUTAG" / "raw" / "MUTAG_A.txt")


def test_without_a_network_the_message_says_what_to_fetch_and_where_to_put_it(root: Path, no_network: None) -> None:
    with pytest.raises(NormbenchError, match=r"(?s)^(?!.*\n).*NCI1\.zip and unpack.*NCI1_A\.txt") as error:
        toy("tu:name=NCI1")
    assert str(root) in str(error.value)


@pytest.mark.parametrize(("file", "name"), [("TUDataset/PTC_MR/raw", "PTC_MR"), ("PTC", "PTC")])
def test_ptc_says_which_of_its_two_files_was_read(root: Path, file: str, name: str, no_network: None) -> None:
    if name == "PTC":
        write_text(root / "PTC/PTC.txt")
    else:
        write_tu(root / file, name=name)
    assert toy("ptc").name == name
    assert toy("ptc").source.startswith(str(root / file))


def test_a_missing_text_file_and_a_strange_name_are_refused(root: Path) -> None:
    with pytest.raises(NormbenchError, match=r"no PTC\.txt"):
        toy("ptc:source=powerful-gnns")
    with pytest.raises(UsageError, match="not a name"):
        toy("tu:name=../etc")


def test_sets_without_node_labels_take_degrees_when_asked(root: Path) -> None:
    (write_tu(root / "TOY") / "TOY_node_labels.txt").unlink()
    with pytest.raises(NormbenchError, match=r"have no labels; write .*degree=true"):
        toy()
    write_text(root / "TOY.txt")
    for source in ("tu", "powerful-gnns"):
        data = toy(f"tu:name=TOY,degree=true,source={source}")
        assert data.features.argmax(1).tolist() == [0, 1, 0, 2, 2, 1, 1, 1]  # degrees 1 2 1 0, 0, 2 2 2


def test_edges_given_one_way_twice_or_to_oneself_become_simple_and_undirected(root: Path) -> None:
    folder = write_tu(root / "TOY")
    (folder / "TOY_A.txt").write_text("1, 2\n3, 2\n2, 3\n3, 2\n4, 4\n")
    assert toy().edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]


@pytest.mark.parametrize(
    ("part", "change", "place", "says"),
    [
        ("A", ("6, 8", "1, 8"), r"TOY_A\.txt, line 9", "from graph 1 to graph 3"),
        ("A", ("6, 8", "6, 9"), r"TOY_A\.txt, line 9", "node 9 does not exist"),
        ("A", ("6, 8", "6, 0"), r"TOY_A\.txt, line 9", "node 0 does not exist"),
        ("A", ("6, 8", "6"), r"TOY_A\.txt, line 9", "1 numbers where 2"),
        ("A", ("6, 8", "6, x"), r"TOY_A\.txt, line 9", "not whole numbers"),
        ("A", ("6, 8", ""), r"TOY_A\.txt, line 9", "not whole numbers"),
        ("node_labels", ("5\n0\n5\n", "5\n0\n"), r"TOY_node_labels\.txt, line 8", "7 node labels, .* 8 nodes"),
        ("node_labels", ("5\n0\n5\n", "5\n0\n5\n5\n"), r"TOY_node_labels\.txt, line 9", "9 node labels"),
        ("graph_labels", ("-1\n", ""), r"TOY_graph_labels\.txt, line 3", "2 graph labels, .* 3 graphs"),
        ("graph_labels", ("-1\n", "-1\n1\n"), r"TOY_graph_labels\.txt, line 4", "4 graph labels"),
        ("graph_indicator", ("2\n", "3\n"), r"TOY_graph_indicator\.txt, line 5", "graph 3 after graph 1"),
        ("graph_indicator", ("1\n1\n1\n1\n", "1\n2\n1\n1\n"), r"TOY_graph_indicator\.txt, line 3", "graph 1 after"),
        ("graph_indicator", ("1\n1\n1\n1\n2\n3\n3\n3\n", ""), r"TOY_graph_indicator\.txt", "names no node"),
    ],
)
def test_a_broken_file_is_named_with_its_line(
    root: Path, part: str, change: tuple[str, ...], place: str, says: str
) -> None:
    path = write_tu(root / "TOY") / f"TOY_{part}.txt"
    text = path.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change, 1))
    with pytest.raises(NormbenchError, match=f"{place}.*{says}"):
        toy()


def test_a_missing_part_or_one_that_is_not_text_is_named(root: Path) -> None:
    folder = write_tu(root / "TOY")
    (folder / "TOY_graph_labels.txt").unlink()
    with pytest.raises(NormbenchError, match=r"TOY_graph_labels\.txt cannot be read: No such file"):
        toy()
    (folder / "TOY_graph_labels.txt").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(NormbenchError, match="it is not text"):
        toy()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("3\n", "4\n"), "line 13: the file ends where the size and label of graph 4 of 4"),
        (("3\n", "2\n"), "line 9: more lines than"),
        (("0 2 0 2", "0 3 0 2"), "line 4: 3 neighbours are announced, and 2 follow"),
        (("0 2 0 2", "0 2 0 4"), "line 4: neighbour 4 is outside the graph"),
        (("0 2 0 2", "0 two 0 2"), "line 4: '0 two 0 2' is not whole numbers"),
        (("1 -1", "1"), "line 7: '1' where the size and label"),
        (("1 -1", "0 -1"), "line 7: graph 2 has 0 nodes"),
    ],
)
def test_a_broken_text_file_is_named_with_its_line(root: Path, change: tuple[str, ...], says: str) -> None:
    path = write_text(root / "TOY.txt")
    text = path.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change, 1))
    with pytest.raises(NormbenchError, match=rf"TOY\.txt, {says}"):
        toy("tu:name=TOY,source=powerful-gnns")


def dense(data: GraphDataset, chosen: tuple[int, ...]) -> tuple[Tensor, ...]:
    """Features, D^-1/2 (A + I) D^-1/2 and labels of the chosen graphs, the plain way."""
    kept = torch.cat([(data.graph_index == number).nonzero()[:, 0] for number in chosen])
    a = torch.eye(len(data.graph_index))
    a[data.edge_index[0], data.edge_index[1]] = 1
    a = a[kept][:, kept]
    scale = a.sum(1).rsqrt()
    return data.features[kept], scale[:, None] * a * scale, a, data.labels[list(chosen)]


@pytest.mark.parametrize("chosen", [(0, 1, 2), (2, 0), (1,), (2, 1)])
def test_a_batch_is_what_the_dense_formulas_say(root: Path, chosen: tuple[int, ...]) -> None:
    write_tu(root / "TOY")
    features, adjacency, neighbours, labels = dense(toy(), chosen)
    batch, found = toy().to(CPU).batch(torch.tensor(chosen))
    torch.testing.assert_close(batch.features, features)
    torch.testing.assert_close(batch.normalized_adjacency.to_dense(), adjacency)
    torch.testing.assert_close(batch.adjacency.to_dense(), neighbours)
    assert torch.bincount(batch.graph_index).tolist() == [len(GRAPHS[number][1]) for number in chosen]
    assert torch.equal(found, labels)
    assert batch.num_graphs == len(chosen)


def test_an_empty_edge_list_leaves_every_node_to_itself() -> None:
    data = make_graph_dataset("LONE", "nowhere", [0, 1], torch.zeros(2, 0, dtype=torch.int64), [0, 1], [0, 1])
    batch, _ = data.to(CPU).batch(torch.tensor([1, 0]))
    torch.testing.assert_close(batch.normalized_adjacency.to_dense(), torch.eye(2))


def test_chunks_hold_all_graphs_in_order(root: Path) -> None:
    write_tu(root / "TOY")
    chunks = toy().to(CPU).chunks(4)
    assert torch.equal(torch.cat([labels for _, labels in chunks]), toy().labels)
    assert [len(batch.features) for batch, _ in chunks] == [4, 4]


@pytest.mark.parametrize("name", REAL)
def test_the_real_sets_have_the_known_counts_and_both_formats_agree(name: str) -> None:
    where = f"NORMBENCH_DATA={os.environ.get('NORMBENCH_DATA', '')} does not hold {name} in both formats"
    if not (tu_folder(name.upper()) and text_file(name.upper())):
        pytest.skip(where)
    graphs, nodes, edges, tags, classes = REAL[name]
    data, text = DATASETS.build(f"{name}:source=tu"), DATASETS.build(f"{name}:source=powerful-gnns")
    assert (len(data), len(data.graph_index), data.edge_index.shape[1], data.channels) == (graphs, nodes, edges, tags)
    assert torch.bincount(data.labels).tolist() == classes
    isolated = torch.bincount(data.edge_index[0], minlength=nodes) == 0
    assert int(isolated.sum()) == {"mutag": 0, "proteins": 5}[name]
    assert all(torch.equal(getattr(data, part), getattr(text, part)) for part in TENSORS)
