"""What makes a report again."""

from __future__ import annotations

import sys

import pytest

from normbench_cli.reporting.head import MOST_IDS, command, described_versions, make_head
from normbench_cli.store import Store
from normbench_cli.store.queries import runs_frame


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (["/usr/bin/normbench", "report", "--where", "seed < 3"], "normbench report --where 'seed < 3'"),
        (["/x/normbench_cli/__main__.py", "report"], "normbench report"),
        (["notebook.py"], "called from Python"),
        ([], "called from Python"),
    ],
)
def test_the_command_is_one_that_can_be_pasted(monkeypatch: pytest.MonkeyPatch, argv: list[str], shown: str) -> None:
    monkeypatch.setattr(sys, "argv", argv)
    assert command() == shown


@pytest.mark.parametrize("count", [2, MOST_IDS + 1])
def test_few_runs_are_named_and_many_counted(home: object, count: int) -> None:
    facts = {"normbench": "1.2", "git_sha": "0123456789abcdef", "versions": {"torch": "2.9"}}
    with Store.open() as store:
        for seed in range(count):
            store.end(store.begin({"seed": seed}, str(seed), facts, argv=[]), "finished")
        runs = runs_frame(store)
        head = make_head(store, runs)
    assert head["runs"].startswith(f"{count} ({count} finished), started 20")
    assert (runs["id"][0] in head["runs"]) is (count <= MOST_IDS)
    assert head["runs made with"] == "normbench 1.2 012345678, torch 2.9"
    assert head["database"].endswith("normbench.db")


def test_each_combination_of_versions_is_named_once() -> None:
    made: list[dict[str, object]] = [
        {"normbench": "1", "versions": {"torch": "2"}},
        {"normbench": "1", "versions": {"torch": "2"}},
        {},
    ]
    assert described_versions(made) == "normbench 1, torch 2; normbench ?, torch ?"


def test_without_runs_no_version_made_any() -> None:
    assert described_versions([]) == "none"
