"""The data sets of the package fulfil the Protocols of the engine; mypy checks the first two functions."""

from __future__ import annotations

import pytest
import torch

from normbench_cli.datasets import DATASETS
from normbench_cli.datasets._graphs.dataset import GraphDataset, make_graph_dataset
from normbench_cli.datasets._images.memory import InMemoryImages
from normbench_cli.datasets._images.streaming import StreamedImages
from normbench_cli.engine.protocols import GraphData, ImageData, ReadsFiles


def as_image_data(data: InMemoryImages | StreamedImages) -> ImageData:
    return data


def as_graph_data(data: GraphDataset) -> GraphData:
    return data


@pytest.mark.parametrize("name", ["digits:size=8", "shifted_digits"])
def test_images_are_image_data_and_no_graphs(name: str) -> None:
    data = DATASETS.build(name)
    assert isinstance(data, ImageData)
    assert not isinstance(data, GraphData)


def test_graphs_are_graph_data_and_no_images() -> None:
    data = make_graph_dataset("TOY", "here", "abcab", torch.tensor([[0, 2, 3], [1, 3, 4]]), [0, 0, 1, 1, 1], [0, 1])
    assert isinstance(data, GraphData)
    assert not isinstance(data, ImageData)


def test_only_batches_that_are_read_from_files_can_be_damaged() -> None:
    data = DATASETS.build("digits:size=8")
    assert not isinstance(data.batches(data.train, 8, torch.device("cpu")), ReadsFiles)
