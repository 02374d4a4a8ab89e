"""The graph data sets of the TU Dortmund collection, from local files or downloaded."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Literal

from normbench_cli.datasets._files.places import find_text_file, find_tu_folder
from normbench_cli.datasets._graphs.dataset import GraphDataset
from normbench_cli.datasets._graphs.read_powerful_gnns import read_powerful_gnns
from normbench_cli.datasets._graphs.read_tu import read_tu
from normbench_cli.errors import NormbenchError
from normbench_cli.paths import data_root, ensure_writable
from normbench_cli.registry import DATASETS

Source = Literal["any", "tu", "powerful-gnns"]
COLLECTION = "https://www.chrsmrrs.com/graphkerneldatasets"


@DATASETS.register(
    "tu",
    paper="Morris et al. 2020 (TUDataset)",
    graphs=True,
    recipe="augnorm-graph",
    files="normbench_cli.datasets._files.places:tu",
)
def tu(name: str = "", source: Source = "any", degree: bool = False) -> GraphDataset:
    """Any graph classification set of the TU collection, by its name there: tu:name=NCI1.

    source: tu reads the collection's files (and downloads them); powerful-gnns reads NAME.txt in the format of Xu et
    al.; any uses the first that is found.  degree: use a node's degree as its feature, for sets without node labels.
    """
    return load([name], source, degree)


@DATASETS.register(
    "mutag",
    paper="Debnath et al. 1991",
    graphs=True,
    recipe="augnorm-graph",
    files="normbench_cli.datasets._files.places:mutag",
)
def mutag(source: Source = "any", degree: bool = False) -> GraphDataset:
    """MUTAG: 188 molecules of 18 atoms on average, 7 kinds of atoms; are they mutagenic?"""
    return load(["MUTAG"], source, degree)


@DATASETS.register(
    "proteins",
    paper="Borgwardt et al. 2005",
    graphs=True,
    recipe="augnorm-graph",
    files="normbench_cli.datasets._files.places:proteins",
)
def proteins(source: Source = "any", degree: bool = False) -> GraphDataset:
    """PROTEINS: 1,113 proteins of 39 structure elements on average, of 3 kinds; are they enzymes?"""
    return load(["PROTEINS"], source, degree)


@DATASETS.register(
    "ptc",
    paper="Helma et al. 2001",
    graphs=True,
    recipe="augnorm-graph",
    files="normbench_cli.datasets._files.places:ptc",
)
def ptc(source: Source = "any", degree: bool = False) -> GraphDataset:
    """PTC: 344 molecules; do they cause cancer in male rats?  Two different files go by this name.

    The collection's PTC_MR has 14.29 atoms per molecule, of 18 kinds; the file PTC.txt of powerful-gnns has 25.5, as
    the AugNorm paper states.  The data set's `source` is the file that was read.
    """
    return load(["PTC_MR", "PTC"], source, degree)


def load(names: list[str], source: Source, degree: bool) -> GraphDataset:
    """Read the first of the names that is found in the requested format; if none is, download the first."""
    for name in names:
        if not re.fullmatch(r"[\w.-]+", name):
            raise ValueError(f"'{name}' is not a name of a data set: write one of the collection's, as in tu:name=NCI1")
        if source != "powerful-gnns" and (folder := find_tu_folder(name)):
            return read_tu(folder, name, degree)
    for name in names:
        if source != "tu" and (path := find_text_file(name)):
            return read_powerful_gnns(path, name, degree)
    if source == "powerful-gnns":
        raise NormbenchError(
            f"there is no {names[-1]}.txt in {data_root()}",
            f"put the file of powerful-gnns at {data_root() / names[-1] / (names[-1] + '.txt')}",
        )
    return read_tu(download(names[0]), names[0], degree)


def download(name: str) -> Path:
    """Download a data set with torch_geometric; only the files that it unpacks are used."""
    root = data_root() / "TUDataset"
    by_hand = f"{COLLECTION}/{name}.zip and unpack it so that {root / name / 'raw' / (name + '_A.txt')} exists"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # it uses functions that torch has deprecated
            from torch_geometric.datasets import TUDataset
    except ImportError as error:
        raise NormbenchError(
            f"the data set {name} is not in {data_root()}, and torch_geometric, which downloads it, is not installed",
            f'run `pip install "normbench[graphs]"`, or fetch {by_hand}',
        ) from error
    ensure_writable(root, "NORMBENCH_DATA")
    try:
        TUDataset(str(root), name)
    except Exception as error:  # no network, no such set, a changed server: the remedy is the same
        if (folder := find_tu_folder(name)) is None:
            raise NormbenchError(
                f"the data set {name} is not in {data_root()} and could not be downloaded ({type(error).__name__})",
                f"fetch {by_hand}",
            ) from error
        return folder
    found = find_tu_folder(name)
    assert found is not None
    return found
