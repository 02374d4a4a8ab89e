"""Reads the one-file text format of "How Powerful are Graph Neural Networks?" (Xu et al. 2019).

First line: how many graphs.  Then for each graph a line `nodes label`, and for each of its nodes a line
`tag degree neighbour neighbour ...`, the neighbours counted from 0 within the graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch

from normbench_cli.datasets._graphs.dataset import GraphDataset, make_graph_dataset
from normbench_cli.errors import NormbenchError

MEND = "download the data set again, or mend the file"


class Lines:
    """The lines of a file as whole numbers, with the number of the line just read for messages."""

    def __init__(self, path: Path) -> None:
        self.path, self.number = path, 0
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not text"
            raise NormbenchError(f"{path} cannot be read: {why}", MEND) from error
        self._lines: Iterator[str] = iter(text.rstrip().splitlines())

    def next(self, expected: str, at_least: int) -> list[int]:
        self.number += 1
        line = next(self._lines, None)
        if line is None:
            raise self.broken(f"the file ends where {expected} must stand")
        try:
            numbers = [int(piece) for piece in line.split()]
        except ValueError:
            raise self.broken(f"'{line[:40]}' is not whole numbers") from None
        if len(numbers) < at_least:
            raise self.broken(f"'{line[:40]}' where {expected} must stand")
        return numbers

    def end(self) -> None:
        self.number += 1
        if next(self._lines, None) is not None:
            raise self.broken("more lines than the graphs announced in line 1 take")

    def broken(self, what: str) -> NormbenchError:
        return NormbenchError(f"{self.path}, line {self.number}: {what}", MEND)


def read_powerful_gnns(path: Path, name: str, degree: bool = False) -> GraphDataset:
    """The graphs in the file; what is wrong in it is said with the line."""
    lines = Lines(path)
    (graphs,) = lines.next("the number of graphs", 1)[:1]
    tags: list[int] = []
    owners: list[int] = []
    labels: list[int] = []
    edges: list[tuple[int, int]] = []
    for graph in range(graphs):
        nodes, label = lines.next(f"the size and label of graph {graph + 1} of {graphs}", 2)[:2]
        if nodes < 1:
            raise lines.broken(f"graph {graph + 1} has {nodes} nodes")
        labels.append(label)
        first = len(tags)
        for node in range(nodes):
            tag, count, *rest = lines.next(f"node {node + 1} of {nodes} of graph {graph + 1}", 2)
            if len(rest) < count:  # what follows the neighbours are attributes of the node
                raise lines.broken(f"{count} neighbours are announced, and {len(rest)} follow")
            for neighbour in rest[:count]:
                if not 0 <= neighbour < nodes:
                    raise lines.broken(f"neighbour {neighbour} is outside the graph, which has nodes 0 to {nodes - 1}")
                edges.append((first + node, first + neighbour))
            tags.append(tag)
            owners.append(graph)
    lines.end()
    if not labels:
        raise NormbenchError(f"{path} holds no graph", MEND)
    pairs = torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T
    return make_graph_dataset(name, str(path), tags, pairs, owners, labels, degree)
