"""The data that a run reads are part of its identity."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import normbench_cli as nb
from normbench_cli import build
from normbench_cli.axes.experiment import make_experiment
from normbench_cli.config import RunConfig, make_config
from normbench_cli.errors import NormbenchError
from normbench_cli.experiments.dry_run import dry_run
from normbench_cli.experiments.events import RunEnded
from normbench_cli.experiments.identity import fingerprints
from normbench_cli.experiments.plan import plan_grid
from normbench_cli.experiments.train import resume_run
from normbench_cli.registry import DATASETS
from normbench_cli.store import Store
from tests.datasets.made_files import GRAPHS, write_celeba, write_fashion, write_text, write_tu
from tests.support import recorded_details

PICTURES: dict[str, Any] = {
    "data": "fashionmnist", "model": "mlp:width=8", "batch_size": 10, "iterations": 1, "amp": "off",
}  # fmt: skip


@pytest.fixture
def two_sets(tmp_path: Path) -> tuple[str, str]:
    """Two data folders, each with other pictures under the name of Fashion-MNIST."""
    for seed, place in enumerate(("first", "second")):
        write_fashion(tmp_path / place, seed=seed)
    return str(tmp_path / "first"), str(tmp_path / "second")


def change(images: Path, value: int) -> None:
    """All pixels of a file become equal."""
    images.write_bytes(images.read_bytes()[:16] + bytes([value]) * (30 * 28 * 28))


def due(**settings: Any) -> list[bool]:
    given = settings | {"model": "mlp:width=8", "norm": ["bn", "none"]}
    return [cell.due for cell in plan_grid(make_experiment(given).configs())]


def test_two_data_sets_of_one_name_are_two_cells_and_a_run_keeps_to_its_own(
    two_sets: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {name: value for name, value in PICTURES.items() if name != "model"}
    runs = {}
    for place in two_sets:
        monkeypatch.setenv("NORMBENCH_DATA", place)
        assert due(**settings) == [True, True]
        runs[place] = nb.train(norm=["bn", "none"], **PICTURES)
        assert due(**settings) == [False, False]
    assert len({run.fingerprint for several in runs.values() for run in several}) == 4
    first = runs[two_sets[0]][0]
    facts = r"/\S+ \(60 examples, digest \w+\)"
    refused = (
        rf"^run {first.id} was trained on fashionmnist of {two_sets[0]}{facts}, which is now "
        rf"fashionmnist of {two_sets[1]}{facts}; set NORMBENCH_DATA to .* the first, or .*--force .*force=True"
    )
    for use in (nb.evaluate, nb.load_model):
        with pytest.raises(NormbenchError, match=refused):
            use(first)
    notices: list[Any] = []
    assert nb.evaluate(first, force=True, on_event=notices.append).fingerprint == first.fingerprint
    assert [notice.text.partition(" was ")[0] for notice in notices] == [f"run {first.id}"]
    nb.evaluate(first, force=True)
    (remark,) = recorded_details(first)["remarks"]
    assert re.match(f"scored on other data: run {first.id} was trained on fashionmnist of", remark)
    nb.load_model(first, force=True)
    monkeypatch.setenv("NORMBENCH_DATA", two_sets[0])
    assert nb.evaluate(first).metrics["test/accuracy"] == first.metrics["test/accuracy"]


def test_a_subset_of_celeba_is_another_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {"data": "celeba:size=8", "model": "mlp:size=8,width=8", "batch_size": 2}
    runs = []
    for images in (12, 9):
        write_celeba(tmp_path / str(images), images)
        monkeypatch.setenv("NORMBENCH_DATA", str(tmp_path / str(images)))
        runs += nb.train(iterations=1, epochs=None, **settings)
    full, subset = (recorded_details(run)["data"] for run in runs)
    assert runs[0].fingerprint != runs[1].fingerprint
    assert (full["files"], subset["files"]) == (14, 11)
    assert full["examples"] == {"train": 4, "validation": 4, "test": 4}
    assert subset["examples"] == {"train": 3, "validation": 3, "test": 3}


def test_the_same_data_in_another_folder_are_the_same_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for place in ("a", "b"):
        write_fashion(tmp_path / place)
        monkeypatch.setenv("NORMBENCH_DATA", str(tmp_path / place))
        found += fingerprints([make_config(PICTURES)])
    assert found[0] == found[1] != make_config(PICTURES).fingerprint()


def test_a_graph_set_knows_what_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORMBENCH_DATA", str(tmp_path))
    found = []
    for write, place in ((write_text, "PTC/PTC.txt"), (write_tu, "PTC_MR")):
        write(tmp_path / place, GRAPHS, *(["PTC_MR"] if write is write_tu else []))
        found += fingerprints([make_config({"data": "ptc", "model": "gcn"})])  # this looks at the files again
        data = build.loaded_data("ptc").describe()
        assert (data["source"], data["examples"], data["classes"]) == (str(tmp_path / place), {"all": 3}, 2)
    assert found[0] != found[1]


def test_files_that_change_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORMBENCH_DATA", str(tmp_path))
    raw = write_fashion(tmp_path)
    (before,) = nb.train(**PICTURES)
    images = raw / "t10k-images-idx3-ubyte"
    change(images, 0)
    (after,) = nb.train(**PICTURES)
    assert recorded_details(before)["data"]["digest"] != recorded_details(after)["data"]["digest"]
    assert before.metrics["train/loss"] == after.metrics["train/loss"]
    assert before.metrics["test/loss"] != after.metrics["test/loss"]
    change(images, 1)
    with pytest.raises(NormbenchError, match=f"run {after.id} was trained on fashionmnist"):
        nb.evaluate(after)


def test_files_that_change_within_a_grid_make_another_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORMBENCH_DATA", str(tmp_path))
    images = write_fashion(tmp_path) / "t10k-images-idx3-ubyte"

    def change_once(event: object) -> None:
        if isinstance(event, RunEnded):
            change(images, 2)

    runs = nb.train(norm=["bn", "none"], on_event=change_once, **PICTURES)
    digests = [recorded_details(run)["data"]["digest"] for run in runs]
    assert digests[0] != digests[1]
    assert runs[1].fingerprint == fingerprints([runs[1].config])[0]


def test_files_that_change_while_they_are_read_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORMBENCH_DATA", str(tmp_path))
    raw = write_fashion(tmp_path)
    loaded = DATASETS.build("fashionmnist")

    def build_slowly(spec: str) -> Any:
        (raw / "train-labels-idx1-ubyte").write_bytes(b"")
        return loaded

    monkeypatch.setattr(DATASETS, "build", build_slowly)
    with pytest.raises(
        NormbenchError, match=r"the files of fashionmnist in .* changed while they were read; try again"
    ):
        build.load_data("fashionmnist")


def test_data_that_are_downloaded_get_their_fingerprint_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORMBENCH_DATA", str(tmp_path))
    build_data = DATASETS.build

    def download(spec: str) -> Any:
        if not (tmp_path / "FashionMNIST").exists():
            write_fashion(tmp_path)
        return build_data(spec)

    monkeypatch.setattr(DATASETS, "build", download)
    configs = [make_config(PICTURES)]
    assert fingerprints(configs) == fingerprints(configs)


def test_one_fingerprint_is_planned_shown_recorded_and_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORMBENCH_DATA", str(tmp_path))
    write_fashion(tmp_path)
    config = make_config(PICTURES)
    (cell,), (shown,) = plan_grid([config]), dry_run([config])
    (run,) = nb.train(**PICTURES)
    with Store.open() as store:
        stored = store.find(run.id).fingerprint
    assert {cell.fingerprint, shown.fingerprint, shown.to_json()["fingerprint"], run.to_json()["fingerprint"]} == {
        stored
    }


@pytest.mark.parametrize("values", [{}, {"data": "shifted_digits"}, {"amp": "auto"}, {"norm": "popnorm", "seed": 7}])
def test_what_comes_with_a_package_adds_nothing_to_a_fingerprint(values: dict[str, Any]) -> None:
    config = make_config(values)
    plain = RunConfig(**config.to_dict() | {"amp": build.resolution.resolved_amp(config)}).fingerprint()
    assert fingerprints([config]) == [plain]


def test_a_run_on_embedded_data_says_what_they_are(tiny: dict[str, Any]) -> None:
    (run,) = nb.train(**tiny)
    data = recorded_details(run)["data"]
    assert data.pop("digest") == build.loaded_data("digits:size=8").digest
    examples = {"train": 1437, "test": 360}
    assert data == {"name": "digits:size=8", "source": "embedded", "examples": examples, "classes": 10}
    assert run.fingerprint == run.config.fingerprint()
    assert nb.evaluate(run).metrics["test/accuracy"] == run.metrics["test/accuracy"]


def test_an_interrupted_run_is_not_continued_on_other_data(
    two_sets: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORMBENCH_DATA", two_sets[0])
    (run,) = nb.train(**PICTURES)
    monkeypatch.setenv("NORMBENCH_DATA", two_sets[1])
    with Store.open() as store:
        store.end(run.id, "interrupted")
        with pytest.raises(
            NormbenchError, match=f"run {run.id} was trained on .*first.* which is now .*second.*; set NORMB"
        ):
            resume_run(run.id, store)
        assert store.find(run.id).status == "interrupted"
        resumed = resume_run(run.id, store, force=True)
        assert (resumed.status, resumed.fingerprint) == ("finished", run.fingerprint)
    assert recorded_details(run)["remarks"][0].startswith("continued on other data: run")


@pytest.mark.parametrize("recorded", [{}, {"data": None}, {"data": ["x"]}, {"data": {"digest": ""}}])
def test_a_run_without_a_record_of_its_data_is_not_checked(recorded: dict[str, Any], tiny: dict[str, Any]) -> None:
    (run,) = nb.train(**tiny)
    with Store.open() as store:
        store.add_details(run.id, {"data": {}, **recorded})
    assert isinstance(nb.load_model(run), torch.nn.Module)


def test_planning_a_finished_grid_loads_no_torch(two_sets: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORMBENCH_DATA", two_sets[0])
    nb.train(norm=["bn", "none"], **PICTURES)
    code = (
        "import sys; from normbench_cli.axes.experiment import make_experiment as made\n"
        "from normbench_cli.experiments.plan import plan_grid\n"
        f"cells = plan_grid(made({PICTURES | {'norm': ['bn', 'none']}!r}).configs())\n"
        "print([cell.status for cell in cells], 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['finished', 'finished'] False"
