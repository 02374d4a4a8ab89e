"""A report says which data its runs used, and takes no mean over two data sets of one name."""

from __future__ import annotations

from typing import Any

import pytest

from normbench_cli.reporting.query import ReportQuery
from normbench_cli.reporting.report import Report, make_report
from normbench_cli.store import Store


def enter(seed: int, data: object, name: str = "ptc") -> None:
    config = {"norm": "batchnorm", "data": name, "seed": seed}
    with Store.open() as store:
        details = {} if data is None else {"data": data}
        run_id = store.begin(config, f"{seed}{data}", {}, argv=[], details=details)
        store.record(run_id, {"test/accuracy": 0.5 + seed / 10})
        store.end(run_id, "finished")


def facts(digest: str, source: str = "/data/PTC.txt", **more: Any) -> dict[str, Any]:
    return {"name": "ptc", "source": source, "digest": digest, "examples": {"all": 1344}, "classes": 2, **more}


def report() -> Report:
    return make_report(ReportQuery())


def rows() -> list[tuple[str, int]]:
    groups = report().groups
    return list(zip(groups["data"], groups["n"], strict=True))


def test_the_data_are_a_note_of_the_report() -> None:
    for seed in (0, 1):
        enter(seed, facts("a" * 16))
    assert "Data: ptc (1,344 examples, 2 classes; digest aaaaaaaaaaaaaaaa)." in report().notes
    assert rows() == [("ptc", 2)]


def test_two_data_sets_of_one_name_are_two_groups_and_two_notes() -> None:
    enter(0, facts("a" * 16))
    enter(1, facts("a" * 16, source="/elsewhere/PTC.txt"))
    enter(0, facts("b" * 16, examples={"train": 5, "test": 3}))
    assert rows() == [("ptc [aaaaaaaa]", 2), ("ptc [bbbbbbbb]", 1)]
    (note,) = (note for note in report().notes if note.startswith("Data: "))
    assert "aaaaaaaaaaaaaaaa); ptc (5 train, 3 test, 2 classes; digest bbbbbbbbbbbbbbbb)" in note or (
        "5 train, 3 test, 2 classes; digest bbbbbbbbbbbbbbbb); ptc (1,344 examples" in note
    )


@pytest.mark.parametrize("other", [None, "damaged", facts("b" * 16, source="embedded")])
def test_runs_whose_data_are_not_known_to_differ_stay_together(other: object) -> None:
    enter(0, facts("a" * 16))
    enter(1, other)
    assert rows() == [("ptc", 2)]


def test_runs_that_recorded_no_data_beside_two_known_sets_are_a_group_of_their_own() -> None:
    for seed, digest in enumerate("ab"):
        enter(seed, facts(digest * 16))
    enter(2, None)
    assert rows() == [("ptc [aaaaaaaa]", 1), ("ptc [bbbbbbbb]", 1), ("ptc [not recorded]", 1)]


def test_without_recorded_data_there_is_no_note() -> None:
    enter(0, None)
    assert not [note for note in report().notes if note.startswith("Data")]
