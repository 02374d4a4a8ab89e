"""normbench runs diff: two runs without statistics."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from normbench_cli.store import Store
from tests.support import RunCommand


def test_settings_and_metrics_that_differ(normbench: RunCommand, enter: Callable[..., Any]) -> None:
    a, b = enter(0.5, 0.75, norm="batchnorm", tag="x"), enter(0.5, 0.8, norm="popnorm", status="failed")
    ended = normbench("runs", "diff", a[:6], b)
    settings, facts, metrics = ended.out.strip().split("\n\n")
    lines = [line.split() for line in settings.splitlines()[1:]]
    assert lines == [["setting", a, b], ["norm", "batchnorm", "popnorm"], ["tag", "x", "-"]]
    assert facts == "Code and machine do not differ."
    lines = [line.split() for line in metrics.splitlines()[1:]]
    assert lines[0] == ["metric", a, b, "difference"]
    assert ["test/accuracy", "(%)", "75", "80", "+5"] in lines
    assert (ended.code, ended.err) == (0, f"run {b} is failed\n")


def test_facts_about_the_machine(normbench: RunCommand, enter: Callable[..., Any]) -> None:
    a = enter(0.5)
    with Store.open() as store:
        b = store.begin({"epochs": 1, "seed": 0}, "x", {"host": "there"}, argv=[])
        store.end(b, "finished")
    ended = normbench("runs", "diff", a, b)
    assert ended.out.startswith("No setting differs.\n\n")
    assert ["host", "here", "there"] in [line.split() for line in ended.out.splitlines()]
    document = json.loads(normbench("runs", "diff", a, b, "--json").out)
    assert (document["a"], document["b"], document["settings"]) == (a, b, [])
    assert document["environment"] == [{"name": "host", "a": "here", "b": "there"}]
    assert document["metrics"][0] == {"name": "test/accuracy", "a": 0.5, "b": None, "difference": None}


def test_runs_that_have_measured_nothing(normbench: RunCommand, enter: Callable[..., Any]) -> None:
    ended = normbench("runs", "diff", enter(seed=0, status="running"), enter(seed=1, status="running"), "-q")
    assert (ended.code, ended.err) == (0, "")
    assert "Neither run has recorded a metric." in ended.out


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["{a}", "ffffffff"], 1, "there is no run 'ffffffff'"),
        (["{a}", "norm=bn"], 1, "'norm=bn' is not a run's id"),
        (["{a}", "{a}"], 2, "both A and B are run"),
        (["{a}"], 2, "Missing argument 'B'"),
        (["{a}", "{a}", "--db", "none.db"], 1, "no database"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_runs_are_a_one_line_error(
    normbench: RunCommand, enter: Callable[..., Any], words: list[str], code: int, says: str
) -> None:
    run_id = enter(0.5)
    ended = normbench("runs", "diff", *(word.format(a=run_id) for word in words))
    assert (ended.code, ended.out, ended.err.count("\n")) == (code, "", 1)
    assert says in ended.err
