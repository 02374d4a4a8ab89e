"""Resuming from damaged checkpoints: the one before is taken, nothing in a file is run, and no record is lost."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from normbench_cli import build, paths
from normbench_cli.engine import checkpoint
from normbench_cli.store import Store
from tests.support import RunCommand

WORDS = ["train", "--data", "digits:size=8", "--model", "mlp:size=8,width=16", "--batch-size", "256", "--epochs", "4"]
EXACT = ("train/loss", "train/accuracy", "test/loss", "test/accuracy", "gradient_norm")
trace = Path("trace")  # in the test's own folder


class Payload:
    """What pickle would run when it reads this: it makes a file."""

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(trace.absolute()), "w")


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def poison(path: Path) -> None:
    """A good checkpoint with something in it that is not data."""
    torch.save(torch.load(path, weights_only=True) | {"note": Payload()}, path)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-100]),
    "a bit flipped": flip,
    "a payload": poison,
    "a payload alone": lambda path: path.write_bytes(pickle.dumps(Payload())),
}


@pytest.fixture
def cut(normbench: RunCommand, monkeypatch: pytest.MonkeyPatch, fill_once: Callable[..., Any]) -> str:
    """A run that was cut off in its fourth epoch, with the checkpoints of the second and third."""
    real = checkpoint.save

    def stop_at_the_fourth(folder: Path, step: int, content: dict[str, Any]) -> Path:
        if content["epochs_done"] == 4:
            raise KeyboardInterrupt
        return real(folder, step, content)

    def make() -> str:
        with monkeypatch.context() as patch:
            patch.setattr(checkpoint, "save", stop_at_the_fourth)
            assert normbench(*WORDS).code == 130
        (run,) = json.loads(normbench("runs", "list", "--json").out)["runs"]
        return str(run["id"])

    return str(fill_once(make))


def checkpoints(run_id: str) -> list[Path]:
    return sorted(paths.run_folder(run_id).iterdir())


def shown(normbench: RunCommand, run_id: str) -> dict[str, Any]:
    (run,) = json.loads(normbench("runs", "show", run_id, "--json").out)["runs"]
    assert isinstance(run, dict)
    return run


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_newest_checkpoint_falls_back_to_the_one_before(
    normbench: RunCommand, cut: str, damage: Callable[..., Any]
) -> None:
    before, newest = checkpoints(cut)
    damage(newest)
    ended = normbench("train", "--resume", cut)
    assert ended.code == 0, ended.err
    assert f"the checkpoint {newest} is damaged or not a normbench checkpoint" in ended.err
    assert "continuing from the one before" in ended.err
    assert f"run {cut} continues after step 12 of 24" in ended.err
    assert not trace.exists()
    assert not before.exists()
    assert len(checkpoints(cut)) == 2
    (whole,) = json.loads(normbench(*WORDS, "--json").out)["runs"]
    resumed = shown(normbench, cut)
    assert {name: resumed["metrics"][name] for name in EXACT} == {name: whole["metrics"][name] for name in EXACT}
    assert [row["epoch"] for row in resumed["curve"]] == [1, 2, 3, 4]


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_without_an_undamaged_checkpoint_the_records_are_kept(
    normbench: RunCommand, cut: str, damage: Callable[..., Any]
) -> None:
    before = shown(normbench, cut)
    for path in checkpoints(cut):
        damage(path)
    ended = normbench("train", "--resume", cut)
    assert ended.code == 1
    assert ended.err.count("\n") == 1
    assert all(str(path) in ended.err for path in checkpoints(cut))
    assert "the records are kept; train the run again with --rerun" in ended.err
    assert not trace.exists()
    assert shown(normbench, cut) == before
    assert before["status"] == "interrupted"


def test_eval_refuses_an_older_checkpoint_in_place_of_the_last(normbench: RunCommand) -> None:
    (run,) = json.loads(normbench(*WORDS, "--json").out)["runs"]
    before, (_, newest) = shown(normbench, run["id"]), checkpoints(run["id"])
    for spoil, says in (
        (flip, f"{newest} is damaged or not a normbench checkpoint"),
        (Path.unlink, "the last checkpoint of run"),
    ):
        spoil(newest)
        ended = normbench("eval", run["id"])
        assert ended.code == 1
        assert ended.err.count("\n") == 1
        assert says in ended.err
        assert "the one before it, of step 18 of 24, is not the final model" in ended.err
    assert shown(normbench, run["id"]) == before


def test_a_checkpoint_of_another_network_is_one_line(normbench: RunCommand, cut: str) -> None:
    for path in checkpoints(cut):
        content = torch.load(path, weights_only=True)
        content["model"]["classifier.weight"] = torch.zeros(3, 3)
        torch.save(content, path)
    ended = normbench("train", "--resume", cut)
    assert ended.code == 1
    assert "does not fit its network" in ended.err
    assert ended.err.count("\n") == 1


def test_a_run_cannot_be_resumed_twice_at_once(
    normbench: RunCommand, cut: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = build.make_training

    def build_while_another_begins(config: Any) -> Any:
        with Store.open() as store:
            store.reopen(cut, 12)
        return real(config)

    monkeypatch.setattr(build, "make_training", build_while_another_begins)
    ended = normbench("train", "--resume", cut)
    assert ended.code == 1
    assert f"run {cut} is already being resumed" in ended.err
    assert ended.err.count("\n") == 1
    assert [row["epoch"] for row in shown(normbench, cut)["curve"]] == [1, 2]


def test_a_run_resumed_during_a_sweep_is_not_marked_interrupted(
    enter: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = enter(0.5, status="running")

    def dead_and_resumed_at_once(run: Any, *_: Any) -> bool:
        with Store.open(sweep=False) as other:
            other.end(run.id, "interrupted")
            other.reopen(run.id, 1)
        return True

    monkeypatch.setattr("normbench_cli.store.store.is_gone", dead_and_resumed_at_once)
    with Store.open(sweep=False) as store:
        store.sweep()
        assert store.find(run_id).status == "running"
