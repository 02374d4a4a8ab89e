"""The digest of data in memory: every number counts, and where it stands; text and paths do not."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from normbench_cli.build.data_digest import digest_of
from normbench_cli.datasets._images.files import ImageFiles
from normbench_cli.datasets._images.transforms import evaluation_transform
from tests.datasets.conftest import pictures  # noqa: F401
from tests.datasets.made_files import MakePictures


@dataclass
class Split:
    """Anything that holds numbers somewhere."""

    images: Tensor = field(default_factory=lambda: torch.arange(6.0))
    extra: dict[str, Any] = field(default_factory=dict)
    path: str = "/somewhere"


class Plain:
    def __init__(self, value: object) -> None:
        self.value = value
        self.itself = self


EQUAL = [
    (Split(), Split(path="/elsewhere")),
    (Split(extra={"a": 1, "b": [2.0, None]}), Split(extra={"b": [2.0, None], "a": 1})),
    (Plain(torch.zeros(2, 3)), Plain(torch.zeros(3, 2).T)),
    (Plain(np.arange(4)[::2]), Plain(np.array([0, 2]))),
    (Plain([]), Plain(lambda: None)),
]
DIFFERENT = [
    (Split(), Split(images=torch.arange(6.0).flip(0))),
    (torch.zeros(6), torch.zeros(2, 3)),
    (torch.zeros(2), torch.zeros(2, dtype=torch.float64)),
    (torch.zeros(2, dtype=torch.bool), torch.tensor([False, True])),
    (Plain(torch.eye(3).to_sparse()), Plain(torch.ones(3, 3).to_sparse())),
    (np.zeros(2), np.ones(2)),
    (np.array([1, None], dtype=object), np.array([2, None], dtype=object)),
    (Plain(1), Plain(2)),
    (Plain(0.5), Plain(None)),
    (Plain({"a": torch.ones(1)}), Plain({"b": torch.ones(1)})),
    ([torch.empty(0), torch.ones(1)], [torch.ones(1), torch.empty(0)]),
]


@pytest.mark.parametrize(("first", "second"), EQUAL)
def test_equal_data_have_equal_digests(first: object, second: object) -> None:
    assert digest_of(first) == digest_of(second)


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_every_number_counts_and_its_place(first: object, second: object) -> None:
    assert digest_of(first) != digest_of(second)


def test_image_files_count_by_their_names_and_sizes(pictures: MakePictures) -> None:  # noqa: F811
    root = pictures({"cat": 2, "dog": 2}, endings=["png"])

    def split(names: list[str], place: Path = root) -> ImageFiles:
        return ImageFiles(place, names, torch.zeros(2), None, 8, evaluation_transform("resized", 8))

    before, names = digest_of(split(["cat/000.png", "cat/001.png"])), ["cat/000.png", "cat/001.png"]
    assert digest_of(split(names)) == before != digest_of(split(["dog/000.png", "dog/001.png"]))
    moved = root.rename(root.with_name("moved"))
    assert digest_of(split(names, moved)) == before
    (moved / "cat" / "001.png").write_bytes(b"")
    emptied = digest_of(split(names, moved))
    (moved / "cat" / "001.png").unlink()
    assert len({before, emptied, digest_of(split(names, moved))}) == 3
