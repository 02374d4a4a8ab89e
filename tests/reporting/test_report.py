"""From a database to a report: which runs, which groups, which values, which notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from unittest.mock import Mock

import pytest

from normbench_cli.errors import UsageError
from normbench_cli.reporting import selection, tables
from normbench_cli.reporting.layout import Layout
from normbench_cli.reporting.query import NothingMeasured, ReportQuery
from normbench_cli.reporting.render import to_json
from normbench_cli.reporting.report import DEFAULT_METRICS, Report, make_report, report_of
from normbench_cli.store import Store, queries

Reported = Callable[[ReportQuery], Report]


def test_runs_are_grouped_by_the_settings_that_vary(reported: Reported) -> None:
    report = reported(ReportQuery())
    assert report.fields == ["norm", "act", "model", "data", "objective"]
    assert report.shown == ["norm"]
    assert report.groups[["norm", "n", "diverged"]].to_numpy().tolist() == [["a|b", 1, 1], ["none", 2, 0]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (ReportQuery(), {"none": 0.45, "a|b": 0.4}),
        (ReportQuery(at="50%"), {"none": 0.25, "a|b": 0.2}),
        (ReportQuery(at="epoch 1"), {"none": 0.15, "a|b": 0.1}),
        (ReportQuery(tag="t"), {"none": 0.5}),
        (ReportQuery(where=["seed=0"]), {"none": 0.4, "a|b": 0.4}),
        (ReportQuery(metrics=["extra"]), {"none": 0.5, "a|b": 0.0}),
        (ReportQuery(by=["norm", "seed"], where=["norm=none", "seed=1"]), {"none": 0.5}),
    ],
    ids=str,
)
def test_each_query_gets_its_means(reported: Reported, query: ReportQuery, expected: dict[str, float]) -> None:
    metric = next(iter(query.metrics), "test/accuracy")
    rows = to_json(reported(query))["rows"]
    means = {row["norm"]: row["metrics"][metric]["mean"] for row in rows if metric in row["metrics"]}
    assert means == pytest.approx(expected)


def test_the_notes_name_every_setting_that_a_mean_pools(reported: Reported) -> None:
    notes = " ".join(reported(ReportQuery(by=["model"])).notes)
    assert "ddof=1" in notes
    assert "differ in seed and norm" in notes


@pytest.mark.parametrize(("at", "says"), [("50%", "after 50% of"), ("epoch 1", "the end of epoch 1")])
def test_the_notes_name_the_point_of_the_schedule(reported: Reported, at: str, says: str) -> None:
    assert any(says in note for note in reported(ReportQuery(at=at)).notes)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        (ReportQuery(metrics=["test/acuracy"]), "did you mean 'test/accuracy'"),
        (ReportQuery(tag="none"), "loosen"),
        (ReportQuery(kind="profile"), "no run of kind 'profile'"),
        (ReportQuery(where=["norm=none"], at="epoch 9"), r"these runs have no measurements yet \(2 finished\)"),
        (ReportQuery(curves=["test/acuracy"]), "did you mean 'test/accuracy'"),
    ],
    ids=str,
)
def test_a_query_without_an_answer_is_an_error_of_its_own(reported: Reported, query: ReportQuery, says: str) -> None:
    with pytest.raises(NothingMeasured, match=says) as caught:
        reported(query)
    assert caught.value.exit_code == 4


def test_diverged_runs_alone_are_a_result(reported: Reported) -> None:
    rows = to_json(reported(ReportQuery(where=["norm=a|b", "seed=1"])))["rows"]
    assert [(row["n"], row["not_in_mean"], row["metrics"]) for row in rows] == [(0, {"diverged": 1}, {})]


def test_an_unknown_setting_gets_a_suggestion(reported: Reported) -> None:
    with pytest.raises(UsageError, match="did you mean 'norm'"):
        reported(ReportQuery(by=["nrm"]))


def test_curves_are_part_of_the_report_and_of_its_one_selection(
    reported: Reported, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_frame = Mock(wraps=queries.runs_frame)
    monkeypatch.setattr(selection, "runs_frame", runs_frame)
    report = reported(ReportQuery(curves=["test/accuracy", "extra"]))
    assert list(report.curves) == ["test/accuracy", "extra"]
    assert report.curves["extra"]["at"].tolist() == [1, 2, 3, 4] * 2
    assert runs_frame.call_count == 1


def test_make_report_opens_the_database_itself(two_norms: Store, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert make_report(ReportQuery()).shown == ["norm"]
    missing = tmp_path_factory.mktemp("empty") / "none.db"
    with pytest.raises(NothingMeasured, match="there is no database"):
        make_report(ReportQuery(), str(missing))
    assert not missing.exists()


def enter(store: Store, metrics: dict[str, float], status: str = "finished", **config: object) -> None:
    run_id = store.begin({"tag": "new", **config}, repr(config), {}, argv=[])
    store.record(run_id, metrics)
    store.end(run_id, status)


@pytest.mark.parametrize(
    ("recorded", "asked", "shown"),
    [
        (DEFAULT_METRICS[::-1], [], list(DEFAULT_METRICS)),
        (["b", "step_time_ms", "a", "train/loss"], [], ["train/loss", "step_time_ms"]),
        (["b", "a"], [], ["a", "b"]),
        (["train/loss", "a", "test/accuracy"], ["train/loss", "a", "test/accuracy", "a"], None),
        (["b", "test/accuracy"], ["b"], ["b"]),
    ],
    ids=str,
)
def test_a_report_shows_the_metrics_asked_for_or_the_usual_ones_or_all(
    two_norms: Store, recorded: Iterable[str], asked: list[str], shown: list[str] | None
) -> None:
    enter(two_norms, dict.fromkeys(recorded, 1.0))
    report = report_of(two_norms, ReportQuery(tag="new", metrics=asked))
    assert report.metrics == (["train/loss", "a", "test/accuracy"] if shown is None else shown)
    assert set(report.summary["metric"]) == set(report.metrics)
    assert list(Layout(report).tables()[0].columns)[-len(report.metrics) :] == list(map(tables.heading, report.metrics))


def test_a_single_run_has_no_note_on_its_sd_and_shows_its_components(two_norms: Store) -> None:
    enter(two_norms, {"train/loss": 1.0}, norm="none")
    report = report_of(two_norms, ReportQuery(tag="new"))
    assert report.shown == ["norm", "act", "model", "data"]
    assert report.notes == ["In common: objective erm."]


def test_notes_come_in_order_and_name_what_all_groups_share(reported: Reported) -> None:
    sd, point, best, common = reported(ReportQuery(at="25%")).notes
    assert sd == "± is the sample standard deviation (sd, ddof=1) over n runs that differ in seed."
    assert point == "Values after 25% of each run's schedule."
    assert best == "Bold: the best of its column, among those on the same data."
    assert common == "In common: act relu, model resnet20, data digits, objective erm."


@pytest.mark.parametrize(
    ("query", "says"),
    [
        (ReportQuery(where=["norm=layernorm"]), "no run of kind 'train' matches; loosen"),
        (ReportQuery(tag="nowhere"), "no run of kind 'train' matches; loosen"),
        (ReportQuery(kind="profile"), "no run of kind 'profile' is recorded; `normbench profile`"),
    ],
    ids=str,
)
def test_no_run_at_all_and_no_run_that_matches_are_told_apart(
    reported: Reported, query: ReportQuery, says: str
) -> None:
    with pytest.raises(NothingMeasured, match=says):
        reported(query)


def test_a_metric_that_only_unfinished_runs_have_is_an_error_unless_no_run_finished(two_norms: Store) -> None:
    enter(two_norms, {"odd": 1.0}, status="diverged", norm="none")
    assert report_of(two_norms, ReportQuery(tag="new", metrics=["odd"])).summary.empty
    enter(two_norms, {"train/loss": 1.0}, norm="none", seed=1)
    with pytest.raises(NothingMeasured, match="no finished run has the metric 'odd'"):
        report_of(two_norms, ReportQuery(tag="new", metrics=["odd"]))
