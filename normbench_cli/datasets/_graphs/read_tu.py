"""Reads a data set in the text format of the TU Dortmund collection: NAME_A.txt and its companions in one folder.

NAME_A.txt                one edge `source, target` per line; nodes are numbered from 1 across the whole set
NAME_graph_indicator.txt  one line per node: the graph that it belongs to, from 1, ascending
NAME_graph_labels.txt     one line per graph: its class
NAME_node_labels.txt      one line per node: its tag, one or several numbers; optional
"""

from __future__ import annotations

from pathlib import Path

import torch

from normbench_cli.datasets._graphs.dataset import GraphDataset, make_graph_dataset
from normbench_cli.datasets._graphs.text_lines import REMEDY, line_error, read_lines
from normbench_cli.errors import NormbenchError

Row = tuple[int, ...]


def read_tu(folder: Path, name: str, degree: bool = False) -> GraphDataset:
    """Read the graphs in `folder`; errors name the file and the line."""
    paths = {part: folder / f"{name}_{part}.txt" for part in ("A", "graph_indicator", "graph_labels", "node_labels")}
    owners = [row[0] for row in read_rows(paths["graph_indicator"], 1)]
    labels = [row[0] for row in read_rows(paths["graph_labels"], 1)]
    tags = read_rows(paths["node_labels"]) if paths["node_labels"].exists() else None
    check_owners(paths["graph_indicator"], owners, paths["graph_labels"], len(labels))
    if tags is not None:
        check_count(paths["node_labels"], len(tags), len(owners), "node labels", paths["graph_indicator"], "nodes")
    edges = read_rows(paths["A"], 2)
    check_edges(paths["A"], edges, owners)
    pairs = torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T - 1
    return make_graph_dataset(name, str(paths["A"]), tags, pairs, [owner - 1 for owner in owners], labels, degree)


def read_rows(path: Path, columns: int | None = None) -> list[Row]:
    """Read the lines of a file, each of comma-separated integers."""
    rows = []
    for number, line in enumerate(read_lines(path), 1):
        try:
            row = tuple(int(piece) for piece in line.split(","))
        except ValueError:
            raise line_error(path, number, f"'{line[:40]}' is not whole numbers") from None
        if columns is not None and len(row) != columns:
            raise line_error(path, number, f"expected {columns} numbers, found {len(row)}")
        rows.append(row)
    return rows


def check_edges(path: Path, edges: list[Row], owners: list[int]) -> None:
    """Raise unless every edge joins two nodes of one graph."""
    for line, (source, target) in enumerate(edges, 1):
        for node in (source, target):
            if not 1 <= node <= len(owners):
                raise line_error(path, line, f"node {node} does not exist: there are nodes 1 to {len(owners)}")
        if owners[source - 1] != owners[target - 1]:
            graphs = f"graph {owners[source - 1]} to graph {owners[target - 1]}"
            raise line_error(path, line, f"the edge {source}, {target} goes from {graphs}")


def check_owners(path: Path, owners: list[int], labels_path: Path, graphs: int) -> None:
    """Raise unless nodes are listed graph by graph, from graph 1 on, and every graph has one."""
    if not owners:
        raise NormbenchError(f"{path} names no node", REMEDY)
    before = 0
    for line, owner in enumerate(owners, 1):
        if owner not in (before, before + 1) or owner < 1:
            raise line_error(
                path, line, f"graph {owner} after graph {before}: nodes must be listed graph by graph, without gaps"
            )
        before = owner
    check_count(labels_path, graphs, before, "graph labels", path, "graphs")


def check_count(path: Path, found: int, expected: int, things: str, other: Path, other_things: str) -> None:
    """Raise an error that names the first surplus line, or the first missing one."""
    if found != expected:
        line = min(found, expected) + 1
        raise line_error(path, line, f"there are {found} {things}, and {other.name} has {expected} {other_things}")
