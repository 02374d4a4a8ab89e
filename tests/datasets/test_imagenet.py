"""A small ImageNet in the official layout: its folders, its archives, and the error if neither is there."""

from __future__ import annotations

import hashlib
import importlib
import tarfile
from pathlib import Path

import pytest
import torch

from normbench_cli.config import make_config
from normbench_cli.datasets import DATASETS
from normbench_cli.datasets._images.torchvision_compat import import_torchvision
from normbench_cli.datasets.imagenet import ARCHIVES, META
from normbench_cli.errors import NormbenchError
from tests.datasets.made_files import MakePictures

COUNTS = {"train/n01440764": 3, "train/n01443537": 2, "val/n01440764": 2, "val/n01443537": 1}


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NORMBENCH_DATA", str(tmp_path))
    return tmp_path


def test_folders_in_the_official_layout(pictures: MakePictures) -> None:
    pictures(COUNTS, at="imagenet", endings=["JPEG"])
    data = DATASETS.build("imagenet")
    assert (len(data.train), len(data.test), data.classes, data.shape) == (5, 3, 2, (3, 224, 224))
    assert data.test.labels.tolist() == [0, 0, 1]
    assert data.validation is None
    assert data.test[0][0].shape == (3, 224, 224)


def test_it_trains_with_the_papers_recipe() -> None:
    config = make_config({"data": "imagenet"})
    assert (config.recipe, config.model, config.batch_size) == ("popnorm-imagenet", "resnet18_imagenet", 256)


def test_without_files_the_error_says_how_to_get_them(root: Path) -> None:
    words = r"train/ and val/ not found in .*imagenet, nor ILSVRC2012_img_train.tar.*devkit.*register at image-net.org"
    with pytest.raises(NormbenchError, match=words) as error:
        DATASETS.build("imagenet")
    assert "\n" not in str(error.value)
    assert not (root / "imagenet").exists()


def test_a_missing_split_is_named(pictures: MakePictures) -> None:
    pictures({"train/n01440764": 1}, at="imagenet")
    with pytest.raises(NormbenchError, match=r"'s val/ not found in .*nor ILSVRC2012_img_val.tar, ILSVRC2012_dev"):
        DATASETS.build("imagenet")


def pack(folder: Path, archive: Path) -> None:
    with tarfile.open(archive, "w") as tar:
        for path in sorted(folder.iterdir()):
            tar.add(path, path.name)


def write_archives(made: Path, place: Path) -> None:
    """Archives like the official ones: train holds an archive for each class, val only images."""
    for name in ("n01440764", "n01443537"):
        pack(made / "train" / name, made / f"{name}.tar")
        (made / "tars").mkdir(exist_ok=True)
        (made / f"{name}.tar").rename(made / "tars" / f"{name}.tar")
    place.mkdir()
    pack(made / "tars", place / ARCHIVES["train"])
    pack(made / "val" / "n01440764", place / ARCHIVES["val"])
    torch.save(({"n01440764": ("tench",), "n01443537": ("goldfish",)}, ["n01443537", "n01440764"]), place / META)


def test_official_archives_are_unpacked_by_torchvision(
    root: Path, pictures: MakePictures, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    place = root / "imagenet"
    write_archives(pictures(COUNTS, at="made", endings=["JPEG"]), place)
    import_torchvision()
    tools = importlib.import_module("torchvision.datasets.imagenet")
    for split, name in ARCHIVES.items():
        checksum = hashlib.md5((place / name).read_bytes()).hexdigest()
        monkeypatch.setitem(tools.ARCHIVE_META, split, (name, checksum))
    data = DATASETS.build("imagenet:size=16")
    assert (len(data.train), data.test.labels.tolist()) == (5, [0, 1])
    assert sorted(path.name for path in place.iterdir() if path.is_dir()) == ["train", "val"]
    assert "unpacking ILSVRC2012_img_train.tar" in caplog.text


def test_an_archive_that_is_not_the_official_one_is_refused_in_one_line(root: Path, pictures: MakePictures) -> None:
    write_archives(pictures(COUNTS, at="made", endings=["JPEG"]), root / "imagenet")
    with pytest.raises(NormbenchError, match=r"img_train.tar cannot be unpacked \(.*corrupted\); check") as error:
        DATASETS.build("imagenet")
    assert "\n" not in str(error.value)
    assert not (root / "imagenet" / "train").exists()
