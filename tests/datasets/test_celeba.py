"""CelebA, read from generated files in the official format: groups, splits, images, missing and damaged files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader

from normbench_cli.datasets import DATASETS
from normbench_cli.datasets._images.batches import ImageBatch
from normbench_cli.datasets._images.celeba_files import ATTRIBUTES, IMAGES, PARTITION
from normbench_cli.datasets._images.streaming import StreamedImages
from normbench_cli.datasets.celeba import GROUPS
from normbench_cli.errors import NormbenchError, UsageError

# fmt: off
NAMES = [
    "5_o_Clock_Shadow", "Arched_Eyebrows", "Attractive", "Bags_Under_Eyes", "Bald", "Bangs", "Big_Lips", "Big_Nose",
    "Black_Hair", "Blond_Hair", "Blurry", "Brown_Hair", "Bushy_Eyebrows", "Chubby", "Double_Chin", "Eyeglasses",
    "Goatee", "Gray_Hair", "Heavy_Makeup", "High_Cheekbones", "Male", "Mouth_Slightly_Open", "Mustache",
    "Narrow_Eyes", "No_Beard", "Oval_Face", "Pale_Skin", "Pointy_Nose", "Receding_Hairline", "Rosy_Cheeks",
    "Sideburns", "Smiling", "Straight_Hair", "Wavy_Hair", "Wearing_Earrings", "Wearing_Hat", "Wearing_Lipstick",
    "Wearing_Necklace", "Wearing_Necktie", "Young",
]
# fmt: on
COUNT, SIZES = 60, ((178, 218), (90, 64))


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    return np.where(np.random.default_rng(0).random((COUNT, 40)) < 0.4, 1, -1)


@pytest.fixture
def root(tmp_path: Path, values: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder."""
    monkeypatch.setenv("NORMBENCH_DATA", str(tmp_path / "data"))
    folder = tmp_path / "data" / "celeba"
    (folder / IMAGES).mkdir(parents=True)
    rows, parts, draw = [], [], np.random.default_rng(1)
    for index in range(COUNT):
        name = f"{index + 1:06}.jpg"
        rows.append(f"{name} " + " ".join(f"{value:2}" for value in values[index]))
        parts.append(f"{name} {part_of(index)}")
        width, height = SIZES[index % 2]
        pixels = draw.integers(0, 256, (height, width, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / IMAGES / name)
    (folder / ATTRIBUTES).write_text(f"{COUNT}\n{' '.join(NAMES)} \n" + "\n".join(rows) + "\n")
    (folder / PARTITION).write_text("\n".join(parts) + "\n")
    return folder.parent


def part_of(index: int) -> int:
    return 0 if index < 40 else 1 if index < 50 else 2


def groups_of(batch: ImageBatch) -> Tensor:
    assert batch.groups is not None
    return batch.groups


def load(options: str = "size=32") -> StreamedImages:
    data: StreamedImages = DATASETS.build(f"celeba:{options}")
    return data


@pytest.mark.usefixtures("root")
def test_official_splits_labels_and_group_counts(values: np.ndarray) -> None:
    data = load()
    assert data.validation is not None
    splits = (data.train, data.validation, data.test)
    assert [len(split) for split in splits] == [40, 10, 10]
    assert data.group_names == GROUPS
    assert len(GROUPS) == 16
    on = {name: values[:, NAMES.index(name)] == 1 for name in NAMES}
    assert data.train.labels.tolist() == on["Blond_Hair"][:40].tolist()
    for part, split in enumerate(splits):
        here = np.array([part_of(index) == part for index in range(COUNT)])
        counts = dict(zip(GROUPS, split.groups.sum(0).tolist(), strict=True))
        assert counts["male_blond"] == (on["Male"] & on["Blond_Hair"] & here).sum()
        assert counts["female_other"] == (~on["Male"] & ~on["Blond_Hair"] & here).sum()
        assert counts["old_blond"] == (~on["Young"] & on["Blond_Hair"] & here).sum()
        assert counts["not_attractive_other"] == (~on["Attractive"] & ~on["Blond_Hair"] & here).sum()
        assert counts["straight_hair_blond"] == (on["Straight_Hair"] & on["Blond_Hair"] & here).sum()
        assert counts["wavy_hair_other"] == (on["Wavy_Hair"] & ~on["Blond_Hair"] & here).sum()


def test_evaluation_crops_the_central_square_of_any_image(root: Path) -> None:
    data = load("size=64")
    for index in range(2):
        with Image.open(root / "celeba" / IMAGES / f"{51 + index:06}.jpg") as file:
            side = min(file.size)
            left, top = (file.width - side) // 2, (file.height - side) // 2
            want = file.crop((left, top, left + side, top + side)).resize((64, 64), Image.Resampling.BILINEAR)
        image, _, _ = data.test[index]
        assert image.dtype == torch.uint8
        assert torch.equal(image, torch.from_numpy(np.array(want)).permute(2, 0, 1))


@pytest.mark.usefixtures("root")
def test_training_images_depend_on_index_and_draw_only() -> None:
    train = load().train
    assert torch.equal(train[3, 7][0], train[3, 7][0])
    assert torch.equal(train[3][0], train[3, 0][0])
    assert not torch.equal(train[3, 7][0], train[3, 8][0])


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # where one core is visible
@pytest.mark.usefixtures("root")
def test_a_data_loader_reads_the_images(workers: int) -> None:
    train = load().train
    keys = [(index, 5) for index in reversed(range(len(train)))]
    batches = list(DataLoader(train, batch_size=16, sampler=keys, num_workers=workers))
    assert [images.shape for images, _, _ in batches] == [(16, 3, 32, 32), (16, 3, 32, 32), (8, 3, 32, 32)]
    assert torch.equal(torch.cat([labels for _, labels, _ in batches]), train.labels.flip(0))
    assert torch.equal(torch.cat([groups for _, _, groups in batches]), train.groups.flip(0))
    assert torch.equal(batches[0][0][0], train[39, 5][0])


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.usefixtures("root")
def test_batches_are_the_same_for_any_number_of_workers(workers: int) -> None:
    data = load()

    def batches(epoch: int, first: int = 0, workers: int = 0) -> list[ImageBatch]:
        made = data.batches(data.train, 16, torch.device("cpu"), shuffle_seed=3, workers=workers)
        assert len(made) == 3
        return list(made.epoch(epoch, first))

    plain, again, other = batches(1), batches(1, workers=workers), batches(2)
    for one, two in zip(plain, again, strict=True):
        assert torch.equal(one.inputs, two.inputs)
        assert torch.equal(one.labels, two.labels)
        assert torch.equal(groups_of(one), groups_of(two))
    assert torch.equal(batches(1, first=2, workers=workers)[0].inputs, plain[2].inputs)
    assert not torch.equal(plain[0].inputs, other[0].inputs)
    assert abs(torch.cat([b.inputs for b in plain]).mean().item()) < 0.5


@pytest.mark.usefixtures("root")
def test_the_order_of_the_files_can_be_kept() -> None:
    data = load("size=32,shuffle=false")
    batches = list(data.batches(data.train, 13, torch.device("cpu"), shuffle_seed=3).epoch(1))
    labels = torch.cat([batch.labels for batch in batches])
    assert torch.equal(labels, data.train.labels[:39])  # a last batch of one is left out
    assert sum(len(b.labels) for b in data.batches(data.test, 3, torch.device("cpu")).epoch()) == 10


@pytest.mark.parametrize("workers", [0, 1])
def test_a_damaged_image_is_left_out_or_reported_in_one_line_also_by_a_worker(root: Path, workers: int) -> None:
    (root / "celeba" / IMAGES / "000001.jpg").write_bytes(b"")
    data = load()
    batches = data.batches(data.train, 4, torch.device("cpu"), workers=workers)
    assert [len(batch.labels) for batch in batches.epoch()] == [3, *[4] * 9]
    assert [Path(path).name for path in batches.damaged] == ["000001.jpg"]
    data = load("size=32,damaged=fail")
    with pytest.raises(NormbenchError, match=r"^\S+000001.jpg cannot be read as an image .*; copy it again.*$"):
        list(data.batches(data.train, 4, torch.device("cpu"), workers=workers).epoch())


def edit(root: Path, name: str, old: str, new: str) -> None:
    path = root / "celeba" / name
    path.write_text(path.read_text().replace(old, new, 1))


def test_an_error_names_the_missing_or_damaged_file_in_one_line(root: Path) -> None:
    folder = root / "celeba"
    whole = {name: (folder / name).read_text() for name in (ATTRIBUTES, PARTITION)}
    cases = [
        (ATTRIBUTES, "Blond_Hair", "Blonde", f"{ATTRIBUTES} is damaged: line 2 does not name Blond_Hair"),
        (ATTRIBUTES, "60\n", "61\n", "announces 61 images and 60 follow"),
        (ATTRIBUTES, "60\n", "many\n", "line 1 is not the number of images"),
        (ATTRIBUTES, "000002.jpg ", "000002.jpg 1 ", "line 4 has 41 values for 40 attributes"),
        (PARTITION, "000003.jpg 0", "000003.jpg 7", f"{PARTITION} is damaged: line 3"),
        (PARTITION, "000003.jpg 0\n", "", "does not say the part of 000003.jpg"),
    ]
    for name, old, new, message in cases:
        edit(root, name, old, new)
        with pytest.raises(NormbenchError, match=message) as error:
            load()
        assert "\n" not in str(error.value)
        (folder / name).write_text(whole[name])
    (folder / IMAGES / "000009.jpg").unlink()
    with pytest.raises(NormbenchError, match=r"000009.jpg is missing \(1 of 60 images\)"):
        load()


@pytest.mark.parametrize("content", [b"", b"not an image", None])
def test_a_damaged_image_is_named_when_it_is_read(root: Path, content: bytes | None) -> None:
    path = root / "celeba" / IMAGES / "000001.jpg"
    path.write_bytes(path.read_bytes()[:2000] if content is None else content)
    train = load().train
    with pytest.raises(NormbenchError, match=r"000001.jpg cannot be read as an image"):
        train[0]


def test_an_invalid_attribute_value_is_reported_with_its_line(root: Path) -> None:
    path = root / "celeba" / ATTRIBUTES
    lines = path.read_text().split("\n")
    lines[5] = lines[5].replace("-1", " 0")
    path.write_text("\n".join(lines))
    with pytest.raises(NormbenchError, match="line 6 has a value that is neither 1 nor -1"):
        load()


def test_without_files_the_error_says_where_to_put_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORMBENCH_DATA", str(tmp_path))
    with pytest.raises(NormbenchError, match=rf"{IMAGES}, {ATTRIBUTES}, {PARTITION} not found in .*NORMBENCH_DATA"):
        DATASETS.build("celeba")
    (tmp_path / "celeba").mkdir()
    (tmp_path / "celeba" / f"{IMAGES}.zip").touch()
    with pytest.raises(NormbenchError, match="unpack"):
        DATASETS.build("celeba")


def test_a_size_out_of_range_is_refused() -> None:
    with pytest.raises(UsageError, match="size is 2"):
        DATASETS.build("celeba", size=2)


@pytest.mark.usefixtures("root")
def test_a_run_trains_on_it_and_records_its_groups() -> None:
    from normbench_cli.build import make_training, resolve
    from normbench_cli.config import make_config
    from normbench_cli.engine.events import Record
    from normbench_cli.engine.loop import fit

    values = {"data": "celeba:size=32", "model": "resnet20", "epochs": "2", "batch_size": "4"}
    config = make_config({**values, "objective": "cvar"})
    assert config.recipe == "augnorm-celeba"
    records = [r for r in fit(make_training(resolve(config))) if isinstance(r, Record)]
    last = records[-1].metrics
    assert {"validation/worst_group_accuracy", "test/worst_group_accuracy@best_worst_group"} <= set(last)
    assert any(name.startswith("test/group/") for name in last)
