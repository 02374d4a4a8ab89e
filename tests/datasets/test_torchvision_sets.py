"""CIFAR and Fashion-MNIST: read from generated files, refused if they are incomplete or not the published ones."""

from __future__ import annotations

import pickle
import urllib.error
from pathlib import Path
from typing import Any
from urllib.request import Request

import numpy as np
import pytest

from normbench_cli.datasets import DATASETS
from normbench_cli.errors import NormbenchError
from tests.datasets.made_files import fashion_images, write_fashion


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder, and no network."""

    def unreachable(*args: Request, **kwargs: Any) -> None:
        raise urllib.error.URLError("no network here")

    monkeypatch.setattr("urllib.request.urlopen", unreachable)
    monkeypatch.setenv("NORMBENCH_DATA", str(tmp_path))
    return tmp_path


def check_error(name: str, message: str) -> None:
    with pytest.raises(NormbenchError, match=message) as error:
        DATASETS.build(name)
    assert "\n" not in str(error.value)


def test_fashionmnist_is_read_from_its_unpacked_files_and_padded(root: Path) -> None:
    write_fashion(root)
    data = DATASETS.build("fashionmnist")
    assert (data.train.images.shape, len(data.test), data.classes) == ((30, 1, 32, 32), 30, 10)
    assert (data.train.images[:, 0, 2:30, 2:30].numpy() == fashion_images()).all()
    assert data.train.images.sum() == fashion_images().sum()
    assert data.mean == pytest.approx([fashion_images().mean() / 255])


def test_the_first_test_images_alone_are_used_on_request(root: Path) -> None:
    write_fashion(root)
    few, all_of_them = DATASETS.build("fashionmnist:test_images=7"), DATASETS.build("fashionmnist")
    assert (len(few.train), len(few.test)) == (30, 7)
    assert (few.test.images == all_of_them.test.images[:7]).all()
    assert (few.test.labels == all_of_them.test.labels[:7]).all()


def test_an_incomplete_fashionmnist_is_refused_in_one_line(root: Path) -> None:
    raw = write_fashion(root)
    (raw / "t10k-labels-idx1-ubyte").unlink()
    check_error(
        "fashionmnist", r"FashionMNIST in .* is incomplete or damaged \(Dataset not found\); remove that folder"
    )
    # the mark of an interrupted download, which is continued
    (raw / "train-images-idx3-ubyte.gz").write_bytes(b"cut off")
    check_error("fashionmnist", r"incomplete or damaged \(Error downloading .*\); remove that folder")


def test_a_fashionmnist_with_too_few_labels_is_refused_in_one_line(root: Path) -> None:
    write_fashion(root, labels=20)
    check_error("fashionmnist", r"incomplete or damaged \(30 images and 20 labels\)")


@pytest.mark.parametrize("name", ["cifar10", "cifar100", "fashionmnist"])
def test_every_failed_download_says_how_to_do_without(root: Path, name: str) -> None:
    for _ in range(2):
        check_error(
            name, r"is not in .* and cannot be downloaded \(.+\); put .*/ there by hand \(from http.*NORMBENCH_DATA"
        )


def test_a_cifar10_that_is_not_the_published_one_is_refused(root: Path) -> None:
    """torchvision knows its checksums, so a file that could run code when it is opened is not opened."""
    folder = root / "cifar-10-batches-py"
    folder.mkdir()
    batch = {"data": np.zeros((4, 3072), np.uint8), "labels": [0, 1, 2, 3]}
    for name in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"):
        (folder / name).write_bytes(pickle.dumps(batch))
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": list("abcd")}))
    check_error("cifar10", r"CIFAR10 in .*cifar-10-batches-py is incomplete or damaged .*; remove that folder")
