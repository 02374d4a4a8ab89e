"""Reads a data set in the text format of the TU Dortmund collection: NAME_A.txt and its companions in one folder."""

from __future__ import annotations

from pathlib import Path

import torch

from normbench_cli.datasets._graphs.dataset import GraphDataset, make_graph_dataset
from normbench_cli.errors import NormbenchError

Row = tuple[int, ...]
MEND = "download the data set again, or mend the file"


def read_tu(folder: Path, name: str, degree: bool = False) -> GraphDataset:
    """The graphs in `folder`; what is wrong in a file is said with the file and the line."""
    paths = {part: folder / f"{name}_{part}.txt" for part in ("A", "graph_indicator", "graph_labels", "node_labels")}
    owners = [row[0] for row in rows(paths["graph_indicator"], 1)]
    labels = [row[0] for row in rows(paths["graph_labels"], 1)]
    tags = rows(paths["node_labels"]) if paths["node_labels"].exists() else None
    _check_owners(paths["graph_indicator"], owners, paths["graph_labels"], len(labels))
    if tags is not None:
        _check_count(paths["node_labels"], len(tags), len(owners), "node labels", paths["graph_indicator"], "nodes")
    edges = rows(paths["A"], 2)
    for line, (source, target) in enumerate(edges, 1):
        for node in (source, target):
            if not 1 <= node <= len(owners):
                raise broken(paths["A"], line, f"node {node} does not exist: there are nodes 1 to {len(owners)}")
        if owners[source - 1] != owners[target - 1]:
            raise broken(
                paths["A"],
                line,
                f"the edge {source}, {target} goes from graph {owners[source - 1]} to graph {owners[target - 1]}",
            )
    pairs = torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T - 1
    return make_graph_dataset(name, str(paths["A"]), tags, pairs, [owner - 1 for owner in owners], labels, degree)


def rows(path: Path, columns: int | None = None) -> list[Row]:
    """A file's lines as whole numbers between commas."""
    try:
        lines = path.read_text(encoding="utf-8").rstrip().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise NormbenchError(f"{path} cannot be read: {why}", MEND) from error
    found = []
    for number, line in enumerate(lines, 1):
        try:
            row = tuple(int(piece) for piece in line.split(","))
        except ValueError:
            raise broken(path, number, f"'{line[:40]}' is not whole numbers") from None
        if columns is not None and len(row) != columns:
            raise broken(path, number, f"{len(row)} numbers where {columns} must stand")
        found.append(row)
    return found


def broken(path: Path, line: int, what: str) -> NormbenchError:
    return NormbenchError(f"{path}, line {line}: {what}", MEND)


def _check_owners(path: Path, owners: list[int], labels_path: Path, graphs: int) -> None:
    """Nodes are listed graph by graph, from graph 1 on, none left out."""
    if not owners:
        raise NormbenchError(f"{path} names no node", MEND)
    before = 0
    for line, owner in enumerate(owners, 1):
        if owner not in (before, before + 1) or owner < 1:
            raise broken(path, line, f"graph {owner} after graph {before}: nodes stand graph by graph, none left out")
        before = owner
    _check_count(labels_path, graphs, before, "graph labels", path, "graphs")


def _check_count(path: Path, here: int, wanted: int, things: str, other: Path, other_things: str) -> None:
    """The first line that is too many, or the first that is missing, is where the file is wrong."""
    if here != wanted:
        raise broken(
            path, min(here, wanted) + 1, f"there are {here} {things}, and {other.name} has {wanted} {other_things}"
        )
