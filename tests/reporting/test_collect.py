"""From a database to a report, and to its files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from normbench_cli.errors import UsageError
from normbench_cli.reporting import render
from normbench_cli.reporting.collect import NothingMeasured, ReportQuery, collect, parse_at
from normbench_cli.store import Store


@pytest.fixture
def store(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """Two norms and two seeds over four epochs; one run diverged."""
    monkeypatch.setattr("normbench_cli.store.connection.SYNCHRONOUS", "OFF")
    with Store.open() as store:
        for norm, seed, state in (
            ("none", 0, "finished"),
            ("none", 1, "finished"),
            ("a|b", 0, "finished"),
            ("a|b", 1, "diverged"),
        ):
            config = {"norm": norm, "seed": seed, "epochs": 4, "tag": "t" if seed else ""}
            run_id = store.begin(config, f"{norm}{seed}", {}, argv=[])
            for epoch in range(1, 5):
                store.record(run_id, {"test/accuracy": (epoch + seed) / 10, "extra": seed}, epoch=epoch)
            store.end(run_id, state)
        yield store


def means(store: Store, *, metric: str = "test/accuracy", **question: list[str] | str) -> dict[str, float]:
    rows = render.to_json(collect(store, ReportQuery(**question)))["rows"]
    return {row["norm"]: row["metrics"][metric]["mean"] for row in rows if metric in row["metrics"]}


def test_runs_are_grouped_by_what_varies(store: Store) -> None:
    report = collect(store, ReportQuery())
    assert report.shown == ["norm"]
    assert render.to_json(report)["rows"][1] == {
        "norm": "none",
        "act": "relu",
        "model": "resnet20",
        "data": "digits",
        "objective": "erm",
        "n": 2,
        "not_in_mean": {},
        "metrics": {
            "test/accuracy": {
                "mean": pytest.approx(0.45),
                "sd": pytest.approx(0.0707, rel=1e-3),
                "n": 2,
                "min": 0.4,
                "max": 0.5,
                "ci95_low": pytest.approx(-0.185, rel=1e-2),
                "ci95_high": pytest.approx(1.085, rel=1e-2),
            }
        },
    }
    assert render.to_json(report)["rows"][0]["not_in_mean"] == {"diverged": 1}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ({}, {"none": 0.45, "a|b": 0.4}),
        ({"at": "50%"}, {"none": 0.25, "a|b": 0.2}),
        ({"at": "epoch 1"}, {"none": 0.15, "a|b": 0.1}),
        ({"tag": "t"}, {"none": 0.5}),
        ({"where": ["seed=0"]}, {"none": 0.4, "a|b": 0.4}),
        ({"metrics": ["extra"], "metric": "extra"}, {"none": 0.5, "a|b": 0.0}),
        ({"by": ["norm", "seed"], "where": ["norm=none", "seed=1"]}, {"none": 0.5}),
    ],
    ids=str,
)
def test_questions_and_their_answers(store: Store, question: dict[str, Any], expected: dict[str, float]) -> None:
    assert means(store, **question) == pytest.approx(expected)


def test_a_mean_over_different_settings_says_so(store: Store) -> None:
    notes = " ".join(collect(store, ReportQuery(by=["model"])).notes)
    assert "ddof=1" in notes
    assert "differ in seed and norm" in notes


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ({"metrics": ["test/acuracy"]}, "did you mean 'test/accuracy'"),
        ({"tag": "none"}, "loosen"),
        ({"kind": "profile"}, "no run of kind 'profile'"),
        ({"where": ["norm=none"], "at": "epoch 9"}, "nothing is measured yet in these runs \\(2 finished\\)"),
    ],
    ids=str,
)
def test_nothing_measured_is_said(store: Store, question: dict[str, Any], says: str) -> None:
    with pytest.raises(NothingMeasured, match=says) as caught:
        collect(store, ReportQuery(**question))
    assert caught.value.exit_code == 4


def test_diverged_runs_alone_are_a_result(store: Store) -> None:
    rows = render.to_json(collect(store, ReportQuery(where=["norm=a|b", "seed=1"])))["rows"]
    assert [(row["n"], row["not_in_mean"]) for row in rows] == [(0, {"diverged": 1})]


def test_an_unknown_setting_is_said(store: Store) -> None:
    with pytest.raises(UsageError, match="did you mean 'norm'"):
        collect(store, ReportQuery(by=["nrm"]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", (None, None)), ("50%", (0.5, None)), (" 12.5 %", (0.125, None)), ("10", (None, 10)), ("epoch=3", (None, 3))],
)
def test_times_in_a_run(text: str, expected: tuple[Any, ...]) -> None:
    assert parse_at(text) == expected


@pytest.mark.parametrize("text", ["0%", "101%", "nan%", "half", "epoch", "epoch x", "-1", "1 2", "%", " "])
def test_what_is_no_time_in_a_run_is_said(text: str) -> None:
    with pytest.raises(UsageError, match="--at"):
        parse_at(text)


def test_markdown_is_a_table_with_its_notes(store: Store) -> None:
    lines = render.to_markdown(collect(store, ReportQuery())).splitlines()
    assert lines[2:6] == [
        "| norm | test/accuracy (%) | not in the mean |",
        "| --- | --- | --- |",
        "| a\\|b | 40.00 (n=1) | 1 diverged |",
        "| none | 45.00 ± 7.07 (n=2) | - |",
    ]
    assert "ddof=1" in lines[7]


def test_csv_has_numbers_as_they_are(store: Store) -> None:
    rows = list(csv.DictReader(io.StringIO(render.to_csv(collect(store, ReportQuery())))))
    assert [(row["norm"], row["metric"], row["n"], row["diverged"]) for row in rows] == [
        ("a|b", "test/accuracy", "1", "1"),
        ("none", "test/accuracy", "2", "0"),
    ]
    assert float(rows[1]["mean"]) == pytest.approx(0.45)
    assert rows[0]["sd"] == ""
