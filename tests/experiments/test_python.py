"""The functions of `import normbench_cli as nb`: the use cases of the commands, without printing."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import pandas as pd
import pytest
import torch

import normbench_cli as nb
from normbench_cli.build import load_images
from normbench_cli.errors import DatabaseError, NormbenchError, UsageError
from normbench_cli.experiments.events import Event, Progress, Record, RunEnded, RunStarted
from normbench_cli.experiments.result import RunResult
from tests.support import RunCommand

DOORS = ["train", "tune", "runs", "metrics", "load_model", "evaluate", "profile"]


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, normbench_cli; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "pandas", "sqlalchemy", "rich"} & set(done.stdout.split())


@pytest.mark.parametrize("name", DOORS)
def test_every_function_is_found_documented_and_has_an_example(name: str) -> None:
    assert name in dir(nb)
    assert f"nb.{name}(" in (inspect.getdoc(getattr(nb, name)) or "")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'trian'"):
        nb.trian  # noqa: B018


def test_a_grid_gives_a_result_a_run_in_order(trained: list[RunResult]) -> None:
    assert [(r.config.norm, r.config.seed, r.status) for r in trained] == [
        (norm, seed, "finished") for norm in ("batchnorm", "popnorm") for seed in (0, 1)
    ]
    assert all(0 <= result.metrics["test/accuracy"] <= 1 for result in trained)


def test_finished_cells_are_returned_and_not_trained_again(trained: list[RunResult], tiny: dict[str, Any]) -> None:
    events: list[Event] = []
    again = nb.train(norm="none,popnorm", seeds="0-1", on_event=events.append, **tiny)
    assert [result.id for result in again[2:]] == [result.id for result in trained[2:]]
    assert again[2].metrics == trained[2].metrics
    assert [event.config.norm for event in events if isinstance(event, RunStarted)] == ["none", "none"]
    assert [event.result for event in events if isinstance(event, RunEnded)] == again[:2]
    rerun = nb.train(norm=["none", "popnorm"], seeds=0, rerun=True, **tiny)
    assert {result.id for result in rerun}.isdisjoint(result.id for result in [*again, *trained])
    assert rerun[0].metrics["train/loss"] == again[0].metrics["train/loss"]


def test_a_run_is_the_one_of_the_command(
    normbench: RunCommand, tiny: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    (result,) = nb.train(norm="batchnorm", seeds=3, **tiny)
    assert capsys.readouterr() == ("", "")
    words = [word for name, value in tiny.items() for word in ("--set", f"{name}={value}")]
    assert normbench("train", "--norm", "batchnorm", "--seed", "3", *words).code == 0
    commanded = nb.runs(where="seed=3")["id"][0]
    assert commanded != result.id
    for name in ("train/loss", "test/loss", "test/accuracy"):
        assert nb.metrics(name).groupby("epoch")["value"].nunique().eq(1).all()


def test_the_callback_hears_what_is_recorded(tiny: dict[str, Any]) -> None:
    events: list[Event] = []
    nb.train(on_event=events.append, **tiny)
    assert [event.epoch for event in events if isinstance(event, Record)] == [None, 1, 2]
    assert all(isinstance(event, Record | Progress | RunStarted | RunEnded) for event in events)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"norm": "popnrm"}, "popnorm"),
        ({"learning_rate": 0.1}, "there is no setting 'learning_rate'"),
        ({"seeds": "1-x"}, "seeds '1-x'"),
        ({"batch_size": 5000}, "batch_size is 5000"),
    ],
)
def test_what_cannot_work_is_the_error_of_the_command(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        nb.train(**{"data": "digits:size=8", "model": "mlp", **settings})
    with pytest.raises(DatabaseError, match="database"):
        nb.runs()  # nothing was made


def test_one_failed_run_raises_and_in_a_grid_is_a_result(tiny: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from normbench_cli import build

    def fail(config: build.ResolvedConfig) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(build, "make_training", fail)
    with pytest.raises(RuntimeError, match="a fault"):
        nb.train(**tiny)
    results = nb.train(seeds=[0, 1], **tiny)
    assert [(result.status, result.message) for result in results] == [("failed", "RuntimeError: a fault")] * 2


@pytest.mark.parametrize(
    "where", ["norm=popnorm", ["norm=popnorm"], "norm = 'popnorm'", ["norm=popnorm", "seed=0", "seed=1"]]
)
def test_runs_and_metrics_take_the_same_filters(trained: list[RunResult], where: str | list[str]) -> None:
    ids = {result.id for result in trained[2:]}
    assert set(nb.runs(where=where)["id"]) == ids
    losses = nb.metrics("train/loss", where=where)
    assert set(losses["run_id"]) == ids
    assert losses["epoch"].tolist() == [1, 2, 1, 2]
    assert set(losses["norm"]) == {"popnorm"}


def test_a_wrong_filter_is_the_error_of_the_command(trained: list[RunResult]) -> None:
    with pytest.raises(UsageError, match="there is no setting 'nrm'"):
        nb.runs(where="nrm=popnorm")


def test_what_belongs_to_the_whole_run_is_a_metric_without_epoch(trained: list[RunResult]) -> None:
    nb.evaluate(trained[0], attacks="gaussian")
    found = nb.metrics(["test/accuracy", "test/accuracy@gaussian"], where=["norm=batchnorm", "seed=0"])
    assert found[found["metric"] == "test/accuracy@gaussian"]["epoch"].isna().all()
    assert set(found["metric"]) == {"test/accuracy", "test/accuracy@gaussian"}


def test_another_database_is_another_database(tiny: dict[str, Any], trained: list[RunResult]) -> None:
    nb.train(norm="none", db="other.db", **tiny)
    assert nb.runs(db="other.db")["norm"].tolist() == ["none"]
    assert "none" not in set(nb.runs()["norm"])


def test_the_loaded_model_is_the_trained_one(trained: list[RunResult]) -> None:
    net = nb.load_model(trained[2])
    test = load_images("digits:size=8").test
    assert not net.training
    with torch.no_grad():
        right = net(net.preprocess(test.images)).argmax(1) == test.labels  # type: ignore[attr-defined, operator]
    assert right.double().mean().item() == trained[2].metrics["test/accuracy"]
    assert nb.evaluate(trained[2]).metrics["test/accuracy"] == trained[2].metrics["test/accuracy"]


def test_images_are_preprocessed_from_bytes_or_fractions_alone_or_in_batches(trained: list[RunResult]) -> None:
    preprocess: Any = nb.load_model(trained[0].id[:6]).preprocess
    pixels = torch.randint(0, 256, (5, 1, 8, 8), dtype=torch.uint8)
    torch.testing.assert_close(preprocess(pixels / 255), preprocess(pixels))
    assert torch.equal(preprocess(pixels[2]), preprocess(pixels)[2:3])
    with pytest.raises(ValueError, match="are not N x 1 x 8 x 8"):
        preprocess(torch.zeros(5, 1, 9, 8))


def test_only_a_finished_training_has_a_model(trained: list[RunResult]) -> None:
    nb.profile("popnorm", shapes=[(8, 4, 6, 6)], rounds=5, memory=False)
    profiled = nb.runs()["id"][0]
    with pytest.raises(NormbenchError, match="is a profile"):
        nb.load_model(profiled)


def test_a_profile_is_a_frame_with_its_environment() -> None:
    frame = nb.profile(norms=["popnorm"], shapes=[(8, 4, 6, 6)], rounds=5, memory=False)
    assert isinstance(frame, pd.DataFrame)
    assert set(frame["contender"]) == {"none", "batchnorm", "popnorm"}
    assert set(frame["shape"]) == {"8x4x6x6"}
    assert frame.attrs["environment"]["device"] == "cpu"
