"""Graph data sets by name: where their files are found, what is downloaded, and the known counts of the real ones."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch

from normbench_cli.datasets._files.places import find_text_file, find_tu_folder
from normbench_cli.errors import NormbenchError, UsageError
from tests.datasets.made_files import GRAPHS, Graph, load_toy, write_text, write_tu

REAL = {"mutag": (188, 3371, 7442, 7, [125, 63]), "proteins": (1113, 43471, 162088, 3, [663, 450])}


@pytest.fixture
def downloader(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str, str], object]], None]:
    """`downloader(function)` puts a function in the place of torch_geometric's TUDataset, installed or not."""

    def replace(function: Callable[[str, str], object]) -> None:
        module = ModuleType("torch_geometric.datasets")
        module.__dict__["TUDataset"] = function
        monkeypatch.setitem(sys.modules, "torch_geometric", ModuleType("torch_geometric"))
        monkeypatch.setitem(sys.modules, "torch_geometric.datasets", module)

    return replace


def no_network(root: str, name: str) -> None:
    raise ConnectionError


@pytest.mark.parametrize("place", ["TOY", "TOY/raw", "TUDataset/TOY/raw", "TUDataset/TOY", "TOY/TOY"])
def test_the_collections_files_are_found_in_every_place(data_folder: Path, place: str) -> None:
    write_tu(data_folder / place)
    assert load_toy().source == str(data_folder / place / "TOY_A.txt")


def test_torch_geometric_reads_the_same_graphs(data_folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its import uses functions that torch has deprecated
        theirs = pytest.importorskip("torch_geometric.datasets").TUDataset
    graphs = [*GRAPHS[::2], Graph(-1, [0, 2], [(0, 1)])]  # it cannot read an isolated last node
    write_tu(data_folder / "TUDataset/TOY/raw", graphs)
    found, ours = theirs(str(data_folder / "TUDataset"), "TOY"), load_toy()
    assert found.y.tolist() == [1 - label for label in ours.labels.tolist()]  # it sorts the classes
    kinds = found.x[:, found.x.any(0)]  # it has a column for every number up to the largest tag
    assert torch.equal(kinds.sum(0).sort().values, ours.features.sum(0).sort().values)
    first = torch.cat([torch.zeros(1, dtype=torch.int64), torch.bincount(ours.graph_index).cumsum(0)])
    joined = torch.cat([graph.edge_index + first[i] for i, graph in enumerate(found)], 1)
    assert torch.equal(joined, ours.edge_index)


def test_a_missing_set_is_downloaded(data_folder: Path, downloader: Callable[..., None]) -> None:
    downloader(lambda root, name: write_tu(Path(root) / name / "raw", name=name))
    assert load_toy("mutag").source == str(data_folder / "TUDataset" / "MUTAG" / "raw" / "MUTAG_A.txt")


def test_a_download_that_fails_says_what_to_fetch_and_where_to_put_it(
    data_folder: Path, downloader: Callable[..., None]
) -> None:
    downloader(no_network)
    with pytest.raises(NormbenchError, match=r"(?s)^(?!.*\n).*NCI1\.zip and unpack.*NCI1_A\.txt") as error:
        load_toy("tu:name=NCI1")
    assert str(data_folder) in str(error.value)


def test_without_torch_geometric_the_error_names_the_extra_and_the_files(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    monkeypatch.setitem(sys.modules, "torch_geometric.datasets", None)
    message = r'not installed; run `pip install "normbench\[graphs\]"`, or fetch \S+/NCI1\.zip and unpack .*NCI1_A\.txt'
    with pytest.raises(NormbenchError, match=message) as error:
        load_toy("tu:name=NCI1")
    assert "\n" not in str(error.value)
    assert not data_folder.exists()
    write_tu(data_folder / "TOY")
    assert len(load_toy()) == 3  # local files are read without it


@pytest.mark.parametrize(("file", "name"), [("TUDataset/PTC_MR/raw", "PTC_MR"), ("PTC", "PTC")])
def test_ptc_says_which_of_its_two_files_was_read(data_folder: Path, file: str, name: str) -> None:
    if name == "PTC":
        write_text(data_folder / "PTC/PTC.txt")
    else:
        write_tu(data_folder / file, name=name)
    assert load_toy("ptc").name == name
    assert load_toy("ptc").source.startswith(str(data_folder / file))


@pytest.mark.usefixtures("data_folder")
def test_a_missing_text_file_and_an_invalid_name_are_refused() -> None:
    with pytest.raises(NormbenchError, match=r"no PTC\.txt"):
        load_toy("ptc:source=powerful-gnns")
    with pytest.raises(UsageError, match="not a name"):
        load_toy("tu:name=../etc")


@pytest.mark.parametrize("name", REAL)
def test_the_real_sets_have_the_known_counts_and_both_formats_agree(name: str) -> None:
    if not (find_tu_folder(name.upper()) and find_text_file(name.upper())):
        pytest.skip(f"NORMBENCH_DATA={os.environ.get('NORMBENCH_DATA', '')} does not hold {name} in both formats")
    graphs, nodes, edges, tags, classes = REAL[name]
    data, text = load_toy(f"{name}:source=tu"), load_toy(f"{name}:source=powerful-gnns")
    assert (len(data), len(data.graph_index), data.edge_index.shape[1], data.channels) == (graphs, nodes, edges, tags)
    assert torch.bincount(data.labels).tolist() == classes
    isolated = torch.bincount(data.edge_index[0], minlength=nodes) == 0
    assert int(isolated.sum()) == {"mutag": 0, "proteins": 5}[name]
    for part in ("features", "edge_index", "graph_index", "labels"):
        assert torch.equal(getattr(data, part), getattr(text, part))
