"""normbench runs: list, show, rm."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from normbench_cli import paths
from tests.support import RunCommand


def listed(ended: Any) -> list[str]:
    return [line.split()[0] for line in ended.out.splitlines()[1:]]


def test_list_shows_the_newest_first(normbench: RunCommand, enter: Callable[..., Any]) -> None:
    ids = [enter(0.5, 0.75, seed=seed, norm="popnorm") for seed in range(3)]
    ended = normbench("runs", "list")
    assert (ended.code, ended.err, listed(ended)) == (0, "", ids[::-1])
    assert {"popnorm", "75.00%", "finished"} <= set(ended.out.split())
    ended = normbench("runs", "list", "--limit", "2")
    assert listed(ended) == ids[:0:-1]
    assert ended.err == "showing the newest 2 of 3 runs; --limit 0 shows all\n"
    assert normbench("runs", "list", "--limit", "2", "-q").err == ""
    assert listed(normbench("runs", "list", "--limit", "0")) == ids[::-1]


@pytest.mark.parametrize(
    "words", [["--state", "failed"], ["--status", "failed"], ["--tag", "t"], ["--where", "norm=bn"]], ids=" ".join
)
def test_list_filters(normbench: RunCommand, enter: Callable[..., Any], words: list[str]) -> None:
    enter(0.5, norm="none")
    wanted = enter(0.5, norm="batchnorm", tag="t", status="failed")
    assert listed(normbench("runs", "list", *words)) == [wanted]


def test_list_as_json(normbench: RunCommand, enter: Callable[..., Any]) -> None:
    run_id = enter(0.5, float("nan"), norm="batchnorm")
    (run,) = json.loads(normbench("runs", "list", "--json").out)["runs"]
    assert (run["id"], run["status"], run["kind"]) == (run_id, "finished", "train")
    assert run["config"] == {"epochs": 2, "seed": 0, "note": "", "norm": "batchnorm"}
    assert run["metrics"] == {"test/accuracy": None, "train/loss": 0.5}
    assert run["started_at"].endswith("+00:00")


def test_list_without_runs(normbench: RunCommand, enter: Callable[..., Any], home: Path) -> None:
    ended = normbench("runs", "list")
    assert (ended.code, ended.out) == (0, "")
    assert "no database" in ended.err
    assert not home.exists()
    assert json.loads(normbench("runs", "list", "--json").out) == {"runs": []}
    enter()
    ended = normbench("runs", "list", "--tag", "t")
    assert (ended.code, ended.out, ended.err) == (0, "", "no recorded run matches\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--state", "done"], "'done' is not the status of a run"),
        (["--where", "x"], "no setting 'x'"),
        (["--limit", "-1"], "--limit"),
    ],
)
def test_wrong_usage_of_list(normbench: RunCommand, words: list[str], says: str) -> None:
    ended = normbench("runs", "list", *words)
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err


def test_show_prints_everything(normbench: RunCommand, enter: Callable[..., Any]) -> None:
    run_id = enter(*(epoch / 100 for epoch in range(1, 41)), norm="popnorm:kappa=4", note="a [bold] note")
    ended = normbench("runs", "show", run_id[:6])
    assert (ended.code, ended.err) == (0, "")
    for words in ("popnorm:kappa=4", "a [bold] note", "here", "train --x", run_id, "test/accuracy (%)", " 40\n"):
        assert words in ended.out
    epochs = [int(line.split()[0]) for line in ended.out.split("\n\n")[-1].splitlines()[1:]]
    assert (len(epochs), epochs[0], epochs[-1]) == (8, 1, 40)


def test_show_as_json(normbench: RunCommand, enter: Callable[..., Any]) -> None:
    run_id = enter(0.5, 0.75)
    (run,) = json.loads(normbench("runs", "show", run_id, "--json").out)["runs"]
    assert (run["id"], run["status"], run["environment"]) == (run_id, "finished", {"host": "here"})
    assert run["metrics"] == {"test/accuracy": 0.75, "train/loss": 0.5}
    assert run["curve"][0] == {"epoch": 1, "metrics": {"test/accuracy": 0.5, "train/loss": 1.0}}


def test_show_of_a_run_without_metrics(normbench: RunCommand, enter: Callable[..., Any]) -> None:
    assert normbench("runs", "show", enter(status="failed")).code == 0


def test_rm_removes_rows_and_folder(normbench: RunCommand, enter: Callable[..., Any], home: Path) -> None:
    gone, kept = enter(0.5), enter(0.5)
    for run_id in (gone, kept):
        paths.run_folder(run_id).mkdir(parents=True)
        (paths.run_folder(run_id) / "checkpoint").touch()
    ended = normbench("runs", "rm", gone[:7], "--yes")
    assert (ended.code, ended.out) == (0, f"removed {gone}\n")
    assert not paths.run_folder(gone).exists()
    assert paths.run_folder(kept).exists()
    assert listed(normbench("runs", "list")) == [kept]
    assert json.loads(normbench("runs", "rm", kept, "--yes", "--json").out)["removed"] == [kept]


def test_rm_of_an_unknown_run_removes_nothing(normbench: RunCommand, enter: Callable[..., Any]) -> None:
    run_id = enter(0.5)
    assert normbench("runs", "rm", run_id, "ffffffffff", "--yes").code == 1
    assert listed(normbench("runs", "list")) == [run_id]


def test_rm_refuses_a_running_run(normbench: RunCommand, enter: Callable[..., Any]) -> None:
    run_id = enter(0.5, status="running")
    ended = normbench("runs", "rm", run_id, "--yes")
    assert ended.code == 1
    assert "--force" in ended.err
    assert normbench("runs", "rm", run_id, "--yes", "--force").code == 0


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, 0), ("n\n", 1, 1)])
def test_rm_asks_for_confirmation(
    normbench: RunCommand, enter: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, answer: str, code: int, left: int
) -> None:
    run_id = enter(0.5)
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    ended = normbench("runs", "rm", run_id)
    assert ended.code == code
    assert f"{run_id}" in ended.err
    assert len(listed(normbench("runs", "list"))) == left


def test_rm_without_a_terminal_needs_yes(
    normbench: RunCommand, enter: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    ended = normbench("runs", "rm", enter(0.5))
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "--yes" in ended.err
