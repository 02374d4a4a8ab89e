"""Batches read from files: equal for any number of workers and from any batch of an epoch, with damaged files too."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from normbench_cli.build import make_training, resolve
from normbench_cli.config import make_config
from normbench_cli.datasets import DATASETS
from normbench_cli.datasets._images import streaming
from normbench_cli.datasets._images.batches import ImageBatch
from normbench_cli.datasets._images.streaming import StreamedBatches
from normbench_cli.engine.events import Notice, Record
from normbench_cli.engine.loop import fit
from normbench_cli.errors import NormbenchError
from tests.datasets.made_files import MakePictures

COUNTS = {"train/a": 10, "train/b": 10, "test/a": 3, "test/b": 3}
CPU = torch.device("cpu")


@pytest.fixture
def place(pictures: MakePictures) -> Path:
    return pictures(COUNTS)


def break_file(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:200])


def batches_of(
    place: Path, size: int = 4, *, seed: int | None = 3, workers: int = 0, damaged: str = "skip"
) -> StreamedBatches:
    data = DATASETS.build(f"folder:path={place},size=16,damaged={damaged}")
    split = data.test if seed is None else data.train
    batches: StreamedBatches = data.batches(split, size, CPU, shuffle_seed=seed, workers=workers)
    return batches


def equal(some: Iterator[Any] | list[ImageBatch], others: list[ImageBatch]) -> bool:
    pairs = list(zip(some, others, strict=True))
    return all(torch.equal(a.inputs, b.inputs) and torch.equal(a.labels, b.labels) for a, b in pairs)


@pytest.mark.parametrize(("pins", "asked"), [(True, True), (True, False), (False, True)])
def test_memory_is_pinned_for_devices_that_gain_by_it_unless_told_otherwise(
    place: Path, monkeypatch: pytest.MonkeyPatch, pins: bool, asked: bool
) -> None:
    monkeypatch.setattr(streaming, "pins_memory", lambda device: pins)
    data = DATASETS.build(f"folder:path={place},size=16")
    batches = data.batches(data.test, 4, CPU, pin_memory=asked)
    assert batches._loader.pin_memory == batches._pinned == (pins and asked)


@pytest.mark.parametrize("damage", [False, True])
def test_batches_do_not_depend_on_workers_or_on_where_an_epoch_begins(place: Path, damage: bool) -> None:
    if damage:
        for name in ("a/001.jpg", "a/007.jpg", "b/003.png"):
            break_file(place / "train" / name)
    plain, worked = batches_of(place), batches_of(place, workers=2)
    epochs = [list(plain.epoch(number)) for number in (1, 2)]
    next(worked.epoch(9))  # an abandoned epoch, whose later batches are already being read
    assert equal(worked.epoch(1), epochs[0])
    assert equal(worked.epoch(2, first=2), epochs[1][2:])
    assert list(worked.damaged.values()) == list(plain.damaged.values())
    assert set(worked.damaged) <= set(plain.damaged)
    assert len(plain.damaged) == 3 * damage
    assert [len(epoch) for epoch in epochs] == [5, 5]
    assert sum(len(batch.labels) for batch in epochs[0]) == 20 - 3 * damage
    assert not equal(epochs[0][:1], epochs[1][:1])


def test_more_workers_than_cores_give_no_warning(place: Path) -> None:
    assert len(list(batches_of(place, workers=5).epoch(1))) == 5


def test_another_seed_gives_other_crops(place: Path) -> None:
    one, other = (next(batches_of(place, 20, seed=seed).epoch(1)).inputs for seed in (3, 4))
    assert not torch.equal(one.sum((1, 2, 3)).sort().values, other.sum((1, 2, 3)).sort().values)


@pytest.mark.parametrize("workers", [0, 1])
def test_reading_does_not_advance_the_global_generator(place: Path, workers: int) -> None:
    batches, before = batches_of(place, workers=workers), torch.get_rng_state()
    for number in (1, 2):
        list(batches.epoch(number))
    assert torch.equal(torch.get_rng_state(), before)


def test_a_training_batch_always_has_two_images(place: Path) -> None:
    """All but two images are damaged: these two replace the others in every batch, and every step takes place."""
    for path in sorted(place.glob("train/*/*"))[2:]:
        break_file(path)
    batches = list(batches_of(place).epoch(1))
    assert [len(batch.labels) for batch in batches] == [2] * 5
    break_file(place / "train" / "a" / "000.png")
    with pytest.raises(NormbenchError, match=r"too few images are left for a step: 19 in a row .*check the folder"):
        list(batches_of(place).epoch(1))


def test_an_evaluation_batch_without_readable_images_is_skipped(place: Path) -> None:
    for path in sorted(place.glob("test/a/*")):
        break_file(path)
    batches = batches_of(place, 3, seed=None)
    assert [batch.labels.tolist() for batch in batches.epoch()] == [[1, 1, 1]]
    assert len(batches.damaged) == 3
    for path in place.glob("test/b/*"):
        break_file(path)
    with pytest.raises(NormbenchError, match="none of the 6 images can be read"):
        list(batches_of(place, 3, seed=None).epoch())


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("content", [b"", b"not an image", None])
def test_a_damaged_image_is_an_error_with_damaged_fail(place: Path, workers: int, content: bytes | None) -> None:
    path = place / "train" / "b" / "004.jpg"
    path.write_bytes(path.read_bytes()[:200] if content is None else content)
    # not bound to a name: the traceback would keep the workers alive
    with pytest.raises(NormbenchError, match=r"^\S+b/004.jpg cannot be read as an image \(.+\); copy it again.*$"):
        list(batches_of(place, workers=workers, damaged="fail").epoch(1))


def test_training_resumes_in_the_middle_of_an_epoch_and_reports_each_damaged_file_once(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("normbench_cli.engine.training.Training.progress_interval", 0)
    for name in ("train/a/001.jpg", "train/b/007.jpg", "test/a/002.JPEG"):
        break_file(place / name)
    config = make_config(
        {"data": f"folder:path={place},size=16", "model": "resnet20", "epochs": 2, "batch_size": 4, "workers": 1}
    )
    whole = make_training(resolve(config))
    seen = list(fit(whole))
    reported = [record.text for record in seen if isinstance(record, Notice)]
    assert len(reported) == len(set(reported)) == 3
    last = [record.metrics for record in seen if isinstance(record, Record)][-1]
    assert last["data/damaged_images"] == 3

    stopped, file = make_training(resolve(config)), io.BytesIO()
    records = fit(stopped)
    while stopped.step < 8:
        next(records)
    torch.save(stopped.state_dict(), file)
    file.seek(0)
    resumed = make_training(resolve(config))
    resumed.load_state_dict(torch.load(file, weights_only=True))
    rest = list(fit(resumed))
    assert not any(isinstance(record, Notice) for record in rest)
    again = [record.metrics for record in rest if isinstance(record, Record)][-1]
    for name in ("train/loss", "test/loss", "test/accuracy", "data/damaged_images"):
        assert again[name] == last[name], name
    for name, value in whole.model.state_dict().items():
        assert torch.equal(resumed.model.state_dict()[name], value), name
