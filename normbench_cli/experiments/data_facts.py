"""The data set statistics that the papers' tables print: numbers of examples, classes, nodes, and images by group."""

from __future__ import annotations

from typing import Any

import torch

from normbench_cli.engine.protocols import GraphData, ImageData


def data_facts(data: ImageData | GraphData) -> dict[str, float]:
    """`data/graphs`, `data/classes`, `data/mean_nodes` for graphs; `data/train_images`, `data/test_images`,
    `data/classes` and `data/train_images@GROUP` for images."""
    facts: dict[str, float] = {"data/classes": data.classes}
    if isinstance(data, GraphData):
        return facts | {"data/graphs": len(data)} | mean_nodes(data)
    facts |= {"data/train_images": len(data.train), "data/test_images": len(data.test)}
    groups: Any = getattr(data.train, "groups", None)
    if isinstance(groups, torch.Tensor):
        for name, count in zip(data.group_names, groups.sum(0).tolist(), strict=True):
            facts[f"data/train_images@{name}"] = count
    return facts


def mean_nodes(data: GraphData) -> dict[str, float]:
    """`data/mean_nodes`, only for data sets that say which graph a node belongs to."""
    index: Any = getattr(data, "graph_index", None)
    return {"data/mean_nodes": len(index) / len(data)} if index is not None else {}
