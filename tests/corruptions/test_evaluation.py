"""`normbench eval --corruption`: the cases, their metrics, what is recorded and what is printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from normbench_cli import build
from normbench_cli.corruptions import CORRUPTIONS
from normbench_cli.corruptions.cases import parse_cases, standard_corruptions
from normbench_cli.datasets._images.memory import InMemoryImages, Split
from normbench_cli.errors import UsageError
from normbench_cli.experiments import evaluate
from normbench_cli.experiments.corrupted import Corrupted
from normbench_cli.registry import DATASETS
from tests.support import RunCommand

TINY = ["--data", "digits:size=8", "--model", "mlp", "--iterations", "2", "--batch-size", "64"]


@pytest.fixture
def run(normbench: RunCommand, fill_once: Callable[..., Any]) -> str:
    """A finished run: its id."""

    def make() -> str:
        return str(json.loads(normbench("train", *TINY, "-q", "--json").out)["runs"][0]["id"])

    return str(fill_once(make))


def metrics(normbench: RunCommand, *words: str) -> dict[str, float]:
    ended = normbench("eval", *words, "--json")
    assert ended.code == 0, ended.err
    found: dict[str, float] = json.loads(ended.out)["runs"][0]["metrics"]
    return found


def specs(*texts: str) -> list[str]:
    return [case.spec for case in parse_cases(texts)[0]]


def test_a_name_alone_means_all_severities_each_once_and_in_order() -> None:
    assert specs("fog") == [f"fog:severity={n}" for n in range(1, 6)]
    assert specs("fog:severity=3/1,snow:severity=2") == ["fog:severity=1", "fog:severity=3", "snow:severity=2"]
    assert specs("fog:severity=2", "snow:severity=1", "fog") == [*specs("fog"), "snow:severity=1"]
    assert specs("fog:seed=1/2,severity=1") == ["fog:seed=1,severity=1", "fog:seed=2,severity=1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fogg", "did you mean 'fog'"),
        ("fog:severity=6", "severity is 6"),
        ("all:severity=0", "severity is 0"),
        ("fog:sevrity=1", "did you mean 'severity'"),
        ("fog:severity", "not key=value"),
    ],
)
def test_an_invalid_corruption_is_refused_in_one_line(normbench: RunCommand, text: str, message: str) -> None:
    ended = normbench("eval", "12345678", "--corruption", text)
    assert ended.code == 2
    assert message in ended.err
    assert len(ended.err.splitlines()) == 1


def test_loss_and_accuracy_of_each_severity_and_mean_errors_are_recorded(normbench: RunCommand, run: str) -> None:
    words = ["gaussian_noise:severity=1/3/5", "fog", "brightness,speckle_noise"]
    found = metrics(normbench, run, *(word for text in words for word in ("--corruption", text)))
    assert {f"test/{name}@gaussian_noise:severity={n}" for name in ("loss", "accuracy") for n in (1, 3, 5)} <= {*found}
    assert "test/corruption_error@gaussian_noise" not in found
    for name in ("fog", "brightness", "speckle_noise"):
        errors = [1 - found[f"test/accuracy@{name}:severity={n}"] for n in range(1, 6)]
        assert found[f"test/corruption_error@{name}"] == pytest.approx(sum(errors) / 5)
    both = found["test/corruption_error@fog"] + found["test/corruption_error@brightness"]
    assert found["test/mean_corruption_error"] == pytest.approx(both / 2)  # speckle noise is not one of the fifteen
    assert found["test/corruptions_in_mean"] == 2
    assert found["test/corruption_error@fog"] > 1 - found["test/accuracy"] - 0.05


def test_evaluating_twice_gives_the_same_metrics(normbench: RunCommand, run: str) -> None:
    from normbench_cli.store import Store

    first, again = (metrics(normbench, run, "--corruption", "snow:severity=2") for _ in range(2))
    assert first == again
    with Store.open() as store:
        assert store.latest_metrics(run)["test/accuracy@snow:severity=2"] == first["test/accuracy@snow:severity=2"]
        assert "train/loss" in store.latest_metrics(run)


@pytest.mark.slow
def test_different_settings_are_not_averaged_together(normbench: RunCommand, run: str) -> None:
    found = metrics(normbench, run, "--corruption", "contrast,fog,contrast:seed=1,fog:seed=1")
    seeded = found["test/corruption_error@contrast:seed=1"] + found["test/corruption_error@fog:seed=1"]
    assert found["test/mean_corruption_error@seed=1"] == pytest.approx(seeded / 2)
    assert found["test/corruptions_in_mean"] == 2
    assert found["test/corruption_error@contrast:seed=1"] == found["test/corruption_error@contrast"]


@pytest.mark.slow
@pytest.mark.usefixtures("frost")
def test_all_means_the_fifteen(normbench: RunCommand, run: str) -> None:
    found = metrics(normbench, run, "--corruption", "all:severity=5")
    assert len(standard_corruptions()) == 15
    assert {f"test/accuracy@{entry.name}:severity=5" for entry in standard_corruptions()} <= {*found}


def test_all_leaves_out_what_cannot_be_generated_and_says_so(
    normbench: RunCommand, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("normbench_cli.corruptions.frost.find_spec", lambda name: None)
    ended = normbench("eval", run, "--corruption", "all:severity=1", "--json")
    assert (
        len([name for name in json.loads(ended.out)["runs"][0]["metrics"] if name.startswith("test/accuracy@")]) == 14
    )
    assert ended.err.startswith("left out of all: frost needs its five photographs")
    assert normbench("eval", run, "--corruption", "frost").code == 1


def test_the_table_has_corruptions_down_and_severities_across(normbench: RunCommand, run: str) -> None:
    ended = normbench("eval", run, "--corruption", "fog,contrast,brightness:severity=2")
    clean, table = ended.out.split("\n\n")
    assert clean.splitlines()[1].startswith(run)
    title, head, *rows = [line.split() for line in table.splitlines()]
    assert title[1] == f"{run}:"
    assert head == ["corruption", "1", "2", "3", "4", "5", "mean"]
    assert [row[0] for row in rows] == ["fog", "contrast", "brightness", "mean"]
    assert rows[2][1] == rows[2][3] == "-"
    shown = [float(cell.rstrip("%")) for cell in rows[0][1:]]
    assert shown[-1] == pytest.approx(sum(shown[:-1]) / 5, abs=0.02)
    assert rows[3][:3] == ["mean", "of", "2"]


def test_metrics_measured_before_an_interruption_are_kept(
    normbench: RunCommand, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from normbench_cli.store import Store

    class Stops(Corrupted):
        def __call__(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
            if type(self._corruption).__name__ == "Snow":
                raise KeyboardInterrupt
            return super().__call__(model, x, y)

    monkeypatch.setattr(evaluate, "Corrupted", Stops)
    assert normbench("eval", run, "--corruption", "fog,snow").code == 130
    with Store.open() as store:
        kept = store.latest_metrics(run)
    assert "test/corruption_error@fog" in kept
    assert "test/accuracy@snow:severity=1" not in kept


def test_an_impossible_corruption_is_refused_before_anything_is_measured(normbench: RunCommand, run: str) -> None:
    ended = normbench("eval", run, "--corruption", "fog,saturate")
    assert ended.code == 2
    assert "saturate is not defined for images of 1 channel" in ended.err
    assert "fog" not in normbench("runs", "show", run).out


def test_published_files_are_scored_like_the_test_images_themselves(
    normbench: RunCommand, monkeypatch: pytest.MonkeyPatch, data_folder: Path
) -> None:
    import numpy as np

    draw = torch.Generator().manual_seed(0)

    def read(name: str, root: Path, folder: str, train: bool) -> Split:
        images = torch.randint(0, 256, (40, 3, 32, 32), dtype=torch.uint8, generator=draw)
        return Split(images, torch.arange(40) % 10)

    monkeypatch.setattr("normbench_cli.datasets.torchvision_sets.read", read)
    words = ["--data", "cifar10", "--model", "mlp", "--iterations", "1", "--batch-size", "20", "-q"]
    run = json.loads(normbench("train", *words, "--json").out)["runs"][0]["id"]
    data = build.load_data("cifar10")  # as it was drawn for the run
    assert isinstance(data, InMemoryImages)
    test = data.test
    folder = data_folder / "CIFAR-10-C"
    folder.mkdir()
    np.save(folder / "labels.npy", np.tile(test.labels.numpy(), 5))
    for name in ("fog", "snow"):
        np.save(folder / f"{name}.npy", np.tile(test.images.permute(0, 2, 3, 1).numpy(), (5, 1, 1, 1)))
    found = metrics(normbench, run, "--corruption", "cifar10c")
    assert found["test/loss@cifar10c:name=fog,severity=4"] == found["test/loss"]
    assert found["test/mean_corruption_error@cifar10c"] == pytest.approx(1 - found["test/accuracy"])
    assert found["test/corruptions_in_mean@cifar10c"] == 2
    assert "test/mean_corruption_error" not in found


@pytest.mark.parametrize("channels_last", [False, True])
def test_corrupted_inputs_equal_standardized_corrupted_images(channels_last: bool) -> None:
    data: InMemoryImages = DATASETS.build("shifted_digits")
    corruption = CORRUPTIONS.build("impulse_noise:severity=5")
    cpu = torch.device("cpu")
    part = Split(data.test.images[:30], data.test.labels[:30])
    disturb = Corrupted(corruption, data, cpu)
    batches = data.batches(part, 8, cpu, channels_last=channels_last)
    found = [disturb(nn.Identity(), batch.inputs, batch.labels) for batch in batches.epoch()]
    corrupted = Split(corruption(part.images), part.labels)
    (whole,) = data.batches(corrupted, 30, cpu, channels_last=channels_last).epoch()
    assert torch.equal(torch.cat(found), whole.inputs)
    assert all(one.is_contiguous(memory_format=torch.channels_last) == channels_last for one in found)


def test_a_corruption_from_another_module_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "their_rain.py").write_text(
        "from normbench_cli.corruptions.base import GeneratedCorruption\n"
        "class Night(GeneratedCorruption):\n"
        "    cifar = imagenet = (0.9, 0.7, 0.5, 0.3, 0.1)\n"
        "    def corrupt_image(self, image, level, rng):\n"
        "        return image / 255 * level\n"
    )
    cases, _ = parse_cases(["their_rain:Night"])
    assert [case.spec for case in cases] == [f"their_rain:Night:severity={n}" for n in range(1, 6)]
    assert not any(case.in_mean for case in cases)
    found = CORRUPTIONS.build(cases[4].spec)(torch.full((1, 1, 8, 8), 200, dtype=torch.uint8))
    assert set(found.flatten().tolist()) <= {19, 20}
    with pytest.raises(UsageError, match="not a class made from"):
        parse_cases(["torch.nn:Linear"])


def test_images_read_from_files_are_corrupted_too(normbench: RunCommand, data_folder: Path) -> None:
    import numpy as np
    from PIL import Image

    draw, names = np.random.default_rng(0), ["Attractive", "Blond_Hair", "Male", "Straight_Hair", "Wavy_Hair", "Young"]
    folder = data_folder / "celeba"
    (folder / "img_align_celeba").mkdir(parents=True)
    rows, parts = [], []
    for index in range(24):
        pixels = draw.integers(0, 256, (40, 40, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / "img_align_celeba" / f"{index}.jpg")
        rows.append(f"{index}.jpg " + " ".join(map(str, draw.choice([-1, 1], len(names)))))
        parts.append(f"{index}.jpg {index // 8}")
    (folder / "list_attr_celeba.txt").write_text(f"24\n{' '.join(names)}\n" + "\n".join(rows))
    (folder / "list_eval_partition.txt").write_text("\n".join(parts))
    words = ["--data", "celeba:size=32", "--model", "mlp", "--iterations", "2", "--batch-size", "8", "--workers", "0"]
    ended = normbench("train", *words, "-q", "--json")
    assert ended.code == 0, ended.err
    run = json.loads(ended.out)["runs"][0]["id"]
    found = metrics(normbench, run, "--corruption", "contrast,saturate:severity=5")
    assert "test/corruption_error@contrast" in found
    assert "test/worst_group_accuracy@contrast:severity=3" in found
    losses = [found["test/loss"], *(found[f"test/loss@contrast:severity={n}"] for n in range(1, 6))]
    assert len(set(losses)) == 6
