"""Reads the one-file text format of "How Powerful are Graph Neural Networks?" (Xu et al. 2019).

The first line is the number of graphs.  Then each graph has a line `nodes label`, and each of its nodes a line
`tag degree neighbor neighbor ...`, with neighbors numbered from 0 within the graph.  Attributes may follow.
"""

from __future__ import annotations

from pathlib import Path

import torch

from normbench_cli.datasets._graphs.dataset import GraphDataset, make_graph_dataset
from normbench_cli.datasets._graphs.text_lines import REMEDY, line_error, read_lines
from normbench_cli.errors import NormbenchError


class Lines:
    """The lines of a file as integers; keeps the current line number for error messages."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0
        self._lines = iter(read_lines(path))

    def next(self, expected: str, min_numbers: int) -> list[int]:
        """Return the next line, of at least `min_numbers` numbers; `expected` describes it in error messages."""
        self.number += 1
        line = next(self._lines, None)
        if line is None:
            raise self.line_error(f"the file ends where {expected} is expected")
        try:
            numbers = [int(piece) for piece in line.split()]
        except ValueError:
            raise self.line_error(f"'{line[:40]}' is not whole numbers") from None
        if len(numbers) < min_numbers:
            raise self.line_error(f"'{line[:40]}' where {expected} is expected")
        return numbers

    def end(self) -> None:
        self.number += 1
        if next(self._lines, None) is not None:
            raise self.line_error("more lines than the graphs announced in line 1 take")

    def line_error(self, what: str) -> NormbenchError:
        return line_error(self.path, self.number, what)


def read_powerful_gnns(path: Path, name: str, degree: bool = False) -> GraphDataset:
    """Read the graphs in the file; errors name the line."""
    lines = Lines(path)
    (graphs,) = lines.next("the number of graphs", 1)[:1]
    tags: list[int] = []
    owners: list[int] = []
    labels: list[int] = []
    edges: list[tuple[int, int]] = []
    for graph in range(graphs):
        nodes, label = lines.next(f"the size and label of graph {graph + 1} of {graphs}", 2)[:2]
        if nodes < 1:
            raise lines.line_error(f"graph {graph + 1} has {nodes} nodes")
        labels.append(label)
        first = len(tags)
        for node in range(nodes):
            tag, count, *rest = lines.next(f"node {node + 1} of {nodes} of graph {graph + 1}", 2)
            if len(rest) < count:
                raise lines.line_error(f"{count} neighbors are announced, and {len(rest)} follow")
            for neighbor in rest[:count]:
                if not 0 <= neighbor < nodes:
                    raise lines.line_error(
                        f"neighbor {neighbor} is outside the graph, which has nodes 0 to {nodes - 1}"
                    )
                edges.append((first + node, first + neighbor))
            tags.append(tag)
            owners.append(graph)
    lines.end()
    if not labels:
        raise NormbenchError(f"{path} holds no graph", REMEDY)
    pairs = torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T
    return make_graph_dataset(name, str(path), tags, pairs, owners, labels, degree)
