"""Folders of images: what is read, how it is cropped, and the errors about a folder that cannot be used."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from normbench_cli.datasets import DATASETS
from normbench_cli.datasets._files.reading import read_contents
from normbench_cli.datasets._images.streaming import StreamedImages
from normbench_cli.errors import NormbenchError, UsageError
from normbench_cli.registry.spec import split_list
from tests.datasets.made_files import MakePictures
from tests.support import RunCommand

COUNTS = {"train/cat": 9, "train/dog": 8, "test/cat": 4, "test/dog": 3}
CPU = torch.device("cpu")


def load(place: Path, options: str = "size=16") -> StreamedImages:
    data: StreamedImages = DATASETS.build(f"folder:path={place},{options}")
    return data


def test_splits_labels_and_shape(pictures: MakePictures) -> None:
    place = pictures({**COUNTS, "val/cat": 2, "val/dog": 1})
    (place / "train" / "dog" / "notes.txt").write_text("no image")
    data = load(place)
    assert data.validation is not None
    assert (len(data.train), len(data.validation), len(data.test)) == (17, 3, 7)
    assert data.train.labels.tolist() == [0] * 9 + [1] * 8
    assert (data.classes, data.shape, data.group_names) == (2, (3, 16, 16), ())
    (batch,) = data.batches(data.test, 10, CPU).epoch()
    assert batch.inputs.shape == (7, 3, 16, 16)
    assert batch.groups is None


@pytest.mark.parametrize("at", ["cats+dogs", "a:b", "x=y", "two words", "cats,dogs", "a,b=c"])
def test_a_folder_name_may_contain_the_syntax_of_specs(pictures: MakePictures, at: str) -> None:
    escaped = str(pictures(COUNTS, at=at)).replace(",", "\\,")
    (one,) = split_list(f"folder:path={escaped},size=16")
    spec = DATASETS.canonical(one)
    assert DATASETS.canonical(spec) == spec
    assert len(DATASETS.build(spec).train) == 17


def test_without_test_the_scores_come_from_val(pictures: MakePictures) -> None:
    data = load(pictures({"train/a": 2, "train/b": 2, "val/a": 1, "val/b": 2}))
    assert data.validation is None
    assert len(data.test) == 3


def test_evaluation_resizes_to_a_square_and_crops_its_center(pictures: MakePictures) -> None:
    place = pictures(COUNTS)
    image = Image.open(place / "test" / "cat" / "000.png").convert("RGB").resize((64, 64), Image.Resampling.BILINEAR)
    want = torch.from_numpy(np.array(image.crop((4, 4, 60, 60)))).permute(2, 0, 1)
    assert torch.equal(load(place, "size=56").test[0][0], want)


def test_resized_keeps_the_proportions(pictures: MakePictures) -> None:
    place = pictures(COUNTS)
    image = Image.open(place / "test" / "cat" / "000.png").convert("RGB").resize((85, 64), Image.Resampling.BILINEAR)
    want = torch.from_numpy(np.array(image.crop((14, 4, 70, 60)))).permute(2, 0, 1)
    data = load(place, "size=56,crop=resized")
    assert torch.equal(data.test[0][0], want)
    assert data.train[0, 1][0].shape == (3, 56, 56)


@pytest.mark.parametrize(("augment", "distinct"), [("none", {1}), ("flip", {2}), ("crop_flip", {10, 11, 12})])
def test_augmentation_flips_and_crops(pictures: MakePictures, augment: str, distinct: set[int]) -> None:
    train = load(pictures(COUNTS), f"size=56,augment={augment}").train
    images = {train[2, draw][0].numpy().tobytes() for draw in range(12)}
    assert len(images) in distinct


def test_pixels_are_standardized_by_the_given_mean_and_std(pictures: MakePictures) -> None:
    place = pictures(COUNTS)
    first = next(load(place, "size=16,mean=0,std=1").batches(load(place).test, 7, CPU).epoch()).inputs
    data = load(place, "size=16,mean=0.5/0.4/0.3,std=0.2")
    second = next(data.batches(data.test, 7, CPU).epoch()).inputs
    torch.testing.assert_close(second, (first - torch.tensor([0.5, 0.4, 0.3]).view(3, 1, 1)) / 0.2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("size=4", "size is 4; give 8 to 1,024"),
        ("mean=0.5/0.5", "mean=0.5/0.5 is not three numbers"),
        ("mean=gray", "mean=gray is not three numbers"),
        ("std=0", "std=0 is not above 0"),
        ("crop=middle", "not one of popnorm, resized"),
    ],
)
def test_an_invalid_option_is_refused_in_one_line(pictures: MakePictures, options: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load(pictures({"train/a": 1, "test/a": 1}), options)


def test_a_path_that_is_not_a_folder_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path, message in (("nowhere", "nowhere is not there; give"), ("file", "file is a file; give")):
        with pytest.raises(UsageError, match=message):
            DATASETS.build(f"folder:path={path}")
    with pytest.raises(UsageError, match="which folder"):
        DATASETS.build("folder")


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({"test/a": 1}, r"has no train/; put"),
        ({"train/a": 1}, r"has no val/ or test/; put"),
        ({"train": 2, "test/a": 1}, r"train has no folder for a class in it; put"),
        ({"train/a": 1, "train/b": 0, "test/a": 1}, r"the class 'b' of .*train has no image \(1 of 2 classes\)"),
        ({"train/a": 1, "test/a": 1, "test/b": 1}, r"train lacks the class 'b' that .*test has \(1 such\)"),
        ({"train/a": 1, "train/b": 1, "val/a": 1, "test/a": 1}, r"val lacks the class 'b' that .*train has \(1 such\)"),
    ],
)
def test_a_folder_that_cannot_be_used_is_refused_in_one_line(
    pictures: MakePictures, counts: dict[str, int], message: str
) -> None:
    with pytest.raises(NormbenchError, match=message) as error:
        load(pictures(counts))
    assert "\n" not in str(error.value)


def test_a_path_of_an_unknown_user_is_refused_in_one_line() -> None:
    with pytest.raises(UsageError, match="names an unknown user"):
        read_contents("folder:path=~nosuchuser/birds")


def test_a_run_from_the_command_line_names_and_counts_a_damaged_image(
    normbench: RunCommand, pictures: MakePictures
) -> None:
    place = pictures(COUNTS)
    image = place / "train" / "cat" / "001.jpg"
    image.write_bytes(image.read_bytes()[:300])
    shutil.copy(image, place / "test" / "dog" / "000.png")
    words = ["train", "--model", "resnet20", "--batch-size", "4", "--iterations", "5", "--data"]
    ended = normbench(*words, f"folder:path={place},size=16")
    assert ended.code == 0, ended.err
    lines = [line for line in ended.err.splitlines() if "cannot be read as an image and is left out" in line]
    assert sorted(line.partition(" ")[0] for line in lines) == [str(place / "test" / "dog" / "000.png"), str(image)]
    ended = normbench(*words, f"folder:path={place},size=16", "--workers", "2", "--json")
    (run,) = json.loads(ended.out)["runs"]
    assert ended.err.count("is left out") == 2  # also if stdout is a JSON document
    assert run["config"]["recipe"] == "folder"
    assert run["metrics"]["data/damaged_images"] == 2
    ended = normbench("eval", run["id"], "--corruption", "fog:severity=1/2", "--json")
    assert json.loads(ended.out)["runs"][0]["metrics"]["test/accuracy"] == run["metrics"]["test/accuracy"]
    (line,) = ended.err.splitlines()
    assert line.startswith(f"{place / 'test' / 'dog' / '000.png'} cannot be read as an image and is left out")
    assert normbench("eval", run["id"], "-q").err == ""
    ended = normbench(*words, f"folder:path={place},size=16,damaged=fail", "-q")
    assert ended.code == 1
    assert "cannot be read as an image" in ended.err
    assert ended.err.count("\n") == 1
