"""Small files in the formats of the data sets: image folders, Fashion-MNIST, CelebA, graphs in both text formats."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from PIL import Image

from normbench_cli.datasets import DATASETS
from normbench_cli.datasets._graphs.dataset import GraphDataset


class MakePictures(Protocol):
    """`pictures({"train/cat": 3, ...})` makes so many images in each folder, of several sizes, and returns the root."""

    def __call__(self, counts: dict[str, int], at: str = ..., endings: Iterable[str] = ...) -> Path: ...


class Graph(NamedTuple):
    label: int
    tags: list[int]  # of the nodes
    edges: list[tuple[int, int]]


# a path with an isolated node, a single node, a triangle
GRAPHS = (
    Graph(1, [5, 0, 5, 2], [(0, 1), (1, 2)]),
    Graph(-1, [0], []),
    Graph(1, [2, 2, 5], [(0, 1), (1, 2), (0, 2)]),
)


def write_tu(folder: Path, graphs: Sequence[Graph] = GRAPHS, name: str = "TOY") -> Path:
    """The graphs in the format of the TU collection."""
    folder.mkdir(parents=True, exist_ok=True)
    tags: list[int] = []
    owners: list[int] = []
    edges: list[str] = []
    for number, graph in enumerate(graphs, 1):
        both = [(a, b) for pair in graph.edges for a, b in (pair, pair[::-1])]
        edges += [f"{len(tags) + a + 1}, {len(tags) + b + 1}" for a, b in both]
        tags += graph.tags
        owners += [number] * len(graph.tags)
    parts: dict[str, Sequence[object]] = {
        "A": edges,
        "graph_indicator": owners,
        "graph_labels": [graph.label for graph in graphs],
        "node_labels": tags,
    }
    for part, lines in parts.items():
        (folder / f"{name}_{part}.txt").write_text("".join(f"{line}\n" for line in lines))
    return folder


def write_text(path: Path, graphs: Sequence[Graph] = GRAPHS) -> Path:
    """The graphs in the format of powerful-gnns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [str(len(graphs))]
    for graph in graphs:
        lines.append(f"{len(graph.tags)} {graph.label}")
        for node, tag in enumerate(graph.tags):
            neighbors = [b if a == node else a for a, b in graph.edges if node in (a, b)]
            lines.append(" ".join(map(str, [tag, len(neighbors), *neighbors])))
    path.write_text("\n".join(lines))
    return path


def fashion_images(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (30, 28, 28), dtype=np.uint8)


def write_fashion(root: Path, labels: int = 30, seed: int = 0) -> Path:
    """Thirty pictures in either split of Fashion-MNIST, in a data folder."""
    raw = root / "FashionMNIST" / "raw"
    raw.mkdir(parents=True)
    for part in ("train", "t10k"):
        images = struct.pack(">iiii", 2051, 30, 28, 28) + fashion_images(seed).tobytes()
        (raw / f"{part}-images-idx3-ubyte").write_bytes(images)
        (raw / f"{part}-labels-idx1-ubyte").write_bytes(
            struct.pack(">ii", 2049, labels) + bytes(i % 10 for i in range(labels))
        )
    return raw


def write_celeba(root: Path, images: int) -> Path:
    """CelebA with so many images, every third of a split, and the attributes that are read; in a data folder."""
    folder, attributes = root / "celeba", ["Blond_Hair", "Male", "Young", "Attractive", "Straight_Hair", "Wavy_Hair"]
    (folder / "img_align_celeba").mkdir(parents=True)
    draw, names = np.random.default_rng(0), [f"{number + 1:06}.jpg" for number in range(images)]
    for name in names:
        Image.fromarray(draw.integers(0, 256, (24, 20, 3), dtype=np.uint8)).save(folder / "img_align_celeba" / name)
    rows = [f"{name} {' '.join(map(str, draw.choice([-1, 1], len(attributes))))}\n" for name in names]
    (folder / "list_attr_celeba.txt").write_text(f"{images}\n{' '.join(attributes)}\n{''.join(rows)}")
    parts = [f"{name} {number % 3}\n" for number, name in enumerate(names)]
    (folder / "list_eval_partition.txt").write_text("".join(parts))
    return folder


def load_toy(spec: str = "tu:name=TOY") -> GraphDataset:
    data: GraphDataset = DATASETS.build(spec)
    return data
