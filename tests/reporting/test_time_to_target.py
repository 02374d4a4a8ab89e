"""Time to a target: read from the curve at the ends of epochs, censored where it is not reached."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from normbench_cli.errors import UsageError
from normbench_cli.reporting import render
from normbench_cli.reporting.query import NothingMeasured, ReportQuery
from normbench_cli.reporting.report import report_of
from normbench_cli.reporting.time_to_target import TimesToTarget, parse_target
from normbench_cli.store import Store

STEP_MS = 500.0


@pytest.fixture
def curves(home: Path) -> Iterator[Store]:
    """Two norms on six seeds, ten steps an epoch; `none` is slower, once too slow and once it diverges."""
    with Store.open() as store:
        for seed in range(6):
            record(store, "batchnorm", seed, [0.5, 0.9, 0.95, 0.96])
            slow = [0.5, 0.6, 0.7, 0.8] if seed == 4 else [0.3] if seed == 5 else [0.3, 0.6, 0.8, 0.9]
            record(store, "none", seed, slow, "diverged" if seed == 5 else "finished")
        yield store


def record(store: Store, norm: str, seed: int, accuracies: Sequence[float], status: str = "finished") -> None:
    run_id = store.begin({"norm": norm, "seed": seed, "epochs": 4}, f"{norm}{seed}", {}, argv=[])
    for epoch, accuracy in enumerate(accuracies, start=1):
        series = {"step_time_ms": [STEP_MS] * 10}
        store.record(run_id, {"test/accuracy": accuracy}, epoch=epoch, step=10 * epoch, series=series)
    store.end(run_id, status)


def times(store: Store, baseline: str = "") -> TimesToTarget:
    found = report_of(store, ReportQuery(target="test/accuracy=90%", baseline=baseline)).targets
    assert found is not None
    return found


def test_the_median_counts_censored_and_diverged_runs_as_not_reached(curves: Store) -> None:
    fast, slow = times(curves).groups.values()
    assert (fast.reached, fast.runs, fast.median("steps"), fast.median("seconds")) == (6, 6, 20, 10)
    assert (slow.reached, slow.runs, slow.median("steps")) == (4, 6, 40)
    diverged = slow.times["steps"][(5,)]
    assert (diverged.reached, diverged.at) == (False, 40)  # not 10, where it ended


def test_where_runs_are_censored_the_log_rank_test_decides(curves: Store) -> None:
    tests = [group.tests for group in times(curves).groups.values() if group.tests]
    assert [test.test for one in tests for test in one.values()] == ["log-rank", "log-rank"] * len(tests)
    assert all(test.p < 0.01 for one in tests for test in one.values())


def test_a_baseline_is_what_the_others_are_tested_against(curves: Store) -> None:
    found = times(curves, baseline="none")
    assert list(found.references.values()) == [1]
    assert [bool(group.tests) for group in found.groups.values()] == [True, False]


def test_where_all_reach_it_pairs_with_equal_seed_are_tested(curves: Store) -> None:
    found = report_of(curves, ReportQuery(target="test/accuracy=0.5", where=["seed<4"])).targets
    assert found is not None
    assert {test.test for group in found.groups.values() for test in group.tests.values()} == {"paired"}


def test_a_report_shows_it_as_a_table_figures_and_json(curves: Store) -> None:
    report = report_of(curves, ReportQuery(target="test/accuracy=0.9"))
    document = render.to_document(report)
    titles = [block.title for block in document.blocks if hasattr(block, "title")]
    assert titles.count("Time to test/accuracy >= 0.9") == 3
    rows = [row["time_to_target"] for row in render.to_json(report)["rows"]]
    assert [(row["reached"], row["median"]["steps"]) for row in rows] == [(6, 20.0), (4, 40.0)]


def test_a_target_that_nobody_reaches_has_no_median_and_no_test(curves: Store) -> None:
    found = report_of(curves, ReportQuery(target="test/accuracy=0.99")).targets
    assert found is not None
    assert [group.median("steps") for group in found.groups.values()] == [math.inf, math.inf]
    assert all(math.isnan(test.p) for group in found.groups.values() for test in group.tests.values())


def test_a_loss_is_to_fall() -> None:
    assert parse_target("train/loss=0.1").is_reached(0.05)
    assert not parse_target("test/accuracy=90%").is_reached(0.89)


@pytest.mark.parametrize("text", ["test/accuracy", "test/accuracy=", "=0.9", "test/accuracy=nan", "phi/mean=1.5"])
def test_another_target_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--target"):
        parse_target(text)


def test_a_metric_that_no_run_has_is_named(curves: Store) -> None:
    with pytest.raises(NothingMeasured, match="no run has a curve of 'validation/accuracy'"):
        report_of(curves, ReportQuery(target="validation/accuracy=0.9"))
