"""normbench runs tag, runs note: labels change, nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from normbench_cli.cli._words import check_arguments
from normbench_cli.errors import UsageError
from normbench_cli.store import Store
from tests.support import RunCommand


def labels_of(run_id: str) -> tuple[str, str, str]:
    with Store.open(sweep=False) as store:
        run = store.find(run_id)
    return run.tag, run.note, run.status


@pytest.mark.parametrize("status", ["finished", "running", "failed"])
def test_a_tag_is_set_found_and_removed(normbench: RunCommand, enter: Callable[..., Any], status: str) -> None:
    a, b, other = enter(0.5, status=status), enter(0.5, seed=1, tag="old"), enter(0.5, seed=2)
    ended = normbench("runs", "tag", a[:6], b, "new one")
    assert (ended.code, ended.out, ended.err) == (0, f"tag of {a}, {b}: new one\n", "")
    assert labels_of(a) == ("new one", "", status)
    listed = json.loads(normbench("runs", "list", "--tag", "new one", "--json").out)["runs"]
    assert [run["id"] for run in listed] == [b, a]
    assert listed[0]["config"]["tag"] == "old"
    assert normbench("runs", "tag", a, "").out == f"tag of {a} removed\n"
    assert labels_of(a)[0] == labels_of(other)[0] == ""


def test_reports_find_a_new_tag(normbench: RunCommand, enter: Callable[..., Any]) -> None:
    a = enter(0.5, norm="batchnorm", act="relu")
    enter(0.75, norm="popnorm", act="relu")
    assert normbench("report", "--tag", "best", "--json").code == 4
    normbench("runs", "tag", a, "best")
    (row,) = json.loads(normbench("report", "--tag", "best", "--json").out)["rows"]
    assert row["metrics"]["test/accuracy"]["mean"] == 0.5


def test_json_has_the_runs_as_in_the_list(normbench: RunCommand, enter: Callable[..., Any]) -> None:
    run_id = enter(0.5)
    ended = normbench("runs", "note", run_id, run_id[:7], "a 'note'", "--json")
    assert json.loads(ended.out) == json.loads(normbench("runs", "list", "--json").out)
    assert json.loads(ended.out)["runs"][0]["note"] == "a 'note'"


def test_an_unknown_run_changes_nothing(normbench: RunCommand, enter: Callable[..., Any]) -> None:
    run_id = enter(0.5)
    ended = normbench("runs", "tag", run_id, "ffffffff", "t")
    assert (ended.code, ended.out) == (1, "")
    assert "there is no run 'ffffffff'" in ended.err
    assert normbench("runs", "tag", "t").code == 2
    assert normbench("runs", "tag", run_id, "t", "--db", "none.db").code == 1
    assert labels_of(run_id)[0] == ""


def test_a_read_only_database_is_left_unchanged(normbench: RunCommand, enter: Callable[..., Any], home: Path) -> None:
    run_id = enter(0.5)
    (home / "normbench.db").chmod(0o444)
    ended = normbench("runs", "note", run_id, "x")
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert "read-only" in ended.err


def test_an_empty_label_is_accepted_an_empty_option_is_not() -> None:
    check_arguments(["runs", "tag", "d322", "", "--json"])
    check_arguments(["runs", "note", "d322", "--json", ""])
    for words in (["runs", "tag", "--db", "", "d322", "x"], ["runs", "rm", ""], ["runs", "tag", "d322", "x", "--db="]):
        with pytest.raises(UsageError):
            check_arguments(words)
