"""CIFAR-10-C and CIFAR-100-C from small generated files: blocks of severities, missing and damaged files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from normbench_cli.corruptions import CORRUPTIONS
from normbench_cli.corruptions.cases import parse_cases
from normbench_cli.datasets import InMemoryImages, Split
from normbench_cli.errors import NormbenchError, UsageError

DRAW = np.random.default_rng(0)
IMAGES = torch.from_numpy(DRAW.integers(0, 256, (6, 3, 32, 32)).astype(np.uint8))
LABELS = torch.tensor([3, 1, 4, 1, 5, 9])
DATA = InMemoryImages(Split(IMAGES, LABELS), Split(IMAGES, LABELS), 10, (0.5,) * 3, (0.25,) * 3)


@pytest.fixture
def published(data_folder: Path) -> Path:
    """Files for six test images: fog is darker the higher the severity, spatter leaves them unchanged."""
    folder = data_folder / "CIFAR-10-C"
    folder.mkdir()
    clean = IMAGES.permute(0, 2, 3, 1).numpy()
    np.save(folder / "fog.npy", np.concatenate([clean // (severity + 1) for severity in range(1, 6)]))
    np.save(folder / "spatter.npy", np.concatenate([clean] * 5))
    np.save(folder / "labels.npy", np.tile(LABELS.numpy(), 5).astype(np.uint8))
    return folder


@pytest.mark.usefixtures("published")
def test_a_block_is_a_severity_in_the_order_of_the_test_set() -> None:
    for severity in range(1, 6):
        corruption = CORRUPTIONS.build("cifar10c", name="fog", severity=severity)
        corruption.check_data("cifar10", DATA)
        found = torch.cat([corruption(IMAGES[:4]), corruption(IMAGES[4:], first=4)])
        assert torch.equal(found, IMAGES // (severity + 1))


@pytest.mark.usefixtures("published")
def test_the_name_alone_means_every_file_that_is_there() -> None:
    cases, _ = parse_cases(["cifar10c"])
    assert [case.kind for case in cases] == ["cifar10c:name=fog"] * 5 + ["cifar10c:name=spatter"] * 5
    assert [case.severity for case in cases] == [1, 2, 3, 4, 5] * 2
    assert {case.group for case in cases} == {"cifar10c"}
    assert [case.in_mean for case in cases] == [True] * 5 + [False] * 5  # spatter is not one of the fifteen
    cases, _ = parse_cases(["cifar10c:name=fog,severity=2/4"])
    assert [case.spec for case in cases] == ["cifar10c:name=fog,severity=2", "cifar10c:name=fog,severity=4"]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "fog.npy").unlink(), r"CIFAR-10-C.fog\.npy is not there; unpack CIFAR-10-C\.tar"),
        (lambda folder: (folder / "labels.npy").unlink(), r"labels\.npy is not there; unpack"),
        (lambda folder: cut(folder / "fog.npy"), r"fog\.npy ends early or is no \.npy file; unpack it again"),
        (lambda folder: (folder / "fog.npy").write_bytes(b""), r"fog\.npy ends early"),
        (lambda folder: (folder / "fog.npy").write_bytes(b"<html>" * 99), r"fog\.npy ends early"),
        (lambda folder: np.save(folder / "fog.npy", np.zeros((20, 32, 32, 3), np.uint8)), r"shape \(20, 32, 32, 3\)"),
        (lambda folder: np.save(folder / "fog.npy", np.zeros((30, 32, 32, 3))), "holds float64"),
        (
            lambda folder: np.save(folder / "labels.npy", np.zeros(30, np.uint8)),
            r"labels\.npy does not hold the labels",
        ),
        (lambda folder: np.save(folder / "labels.npy", LABELS.numpy()), r"labels\.npy does not hold the labels"),
    ],
)
def test_an_unusable_file_is_reported_in_one_line(published: Path, damage: Callable[..., Any], message: str) -> None:
    damage(published)
    with pytest.raises(NormbenchError, match=message) as error:
        CORRUPTIONS.build("cifar10c:name=fog,severity=1").check_data("cifar10", DATA)
    assert "\n" not in str(error.value)


def test_without_the_folder_the_error_says_where_to_put_it(data_folder: Path) -> None:
    with pytest.raises(NormbenchError, match=r"CIFAR-100-C is not there; unpack CIFAR-100-C\.tar .*NORMBENCH_DATA"):
        parse_cases(["cifar100c"])
    (data_folder / "CIFAR-100-C").mkdir()
    np.save(data_folder / "CIFAR-100-C" / "labels.npy", np.zeros(30, np.uint8))
    (case, *_), _ = parse_cases(["cifar100c"])
    with pytest.raises(NormbenchError, match=r"gaussian_noise\.npy is not there"):
        CORRUPTIONS.build(case.spec).check_data("cifar100", DATA)


@pytest.mark.usefixtures("published")
def test_another_data_set_is_refused() -> None:
    with pytest.raises(UsageError, match="cifar10's test images, and the run's data is digits"):
        CORRUPTIONS.build("cifar10c:name=fog,severity=1").check_data("digits", DATA)
