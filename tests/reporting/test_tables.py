"""Which runs count, how they are grouped, how a measurement is formatted."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Any

import pandas as pd
import pytest

from normbench_cli.config import DEFAULTS
from normbench_cli.reporting import tables

START = datetime(2026, 1, 1)


def make_runs(*records: dict[str, Any]) -> pd.DataFrame:
    """Runs started one after the other, a day apart."""
    defaults = DEFAULTS | {"status": "finished"}
    rows = [
        defaults | {"id": f"run{i}", "fingerprint": f"f{i}", "started_at": START + timedelta(days=i)} | record
        for i, record in enumerate(records)
    ]
    return pd.DataFrame(rows, dtype=object)


def make_values(*rows: tuple[Any, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["run_id", "metric", "epoch", "value"])


@pytest.mark.parametrize(
    ("states", "chosen"),
    [
        (["finished", "finished"], "run1"),
        (["finished", "failed"], "run0"),
        (["finished", "diverged"], "run1"),
        (["diverged", "running"], "run0"),
        (["failed", "interrupted"], "run1"),
    ],
)
def test_the_newest_result_of_a_repeated_run_counts(states: list[str], chosen: str) -> None:
    runs = make_runs(*({"fingerprint": "same", "status": state} for state in states))
    assert tables.one_per_fingerprint(runs)["id"].tolist() == [chosen]


def test_settings_that_vary_and_affect_the_result_make_the_groups() -> None:
    runs = make_runs(
        {"norm": "none", "seed": 1, "workers": 1, "tag": "a", "epochs": 2},
        {"norm": "batchnorm", "seed": 2, "workers": 2, "tag": "b", "epochs": None},
    )
    assert tables.varying_fields(runs) == ["norm", "epochs"]


def test_groups_count_finished_runs_and_the_others_by_status() -> None:
    runs = make_runs(
        {"norm": "none", "lr": 0.5, "status": "diverged"},
        {"norm": "none", "lr": 0.5},
        {"norm": "none", "lr": 0.1, "status": "running"},
        {"norm": "batchnorm", "lr": 1},
    )
    runs, groups = tables.assign_groups(runs, ["norm", "lr"])
    assert groups[["norm", "lr"]].to_numpy().tolist() == [["batchnorm", 1], ["none", 0.1], ["none", 0.5]]
    assert runs["group"].tolist() == [2, 2, 1, 0]
    assert groups[["n", "diverged", "running"]].to_numpy().tolist() == [[1, 0, 0], [0, 0, 1], [1, 1, 0]]


def test_groups_are_sorted_unset_first_then_numbers_then_text() -> None:
    _, groups = tables.assign_groups(make_runs(*({"epochs": value} for value in ("word", 10, None, 9))), ["epochs"])
    assert groups["epochs"].tolist() == [None, 9, 10, "word"]


def test_only_finished_runs_enter_a_mean() -> None:
    runs, _ = tables.assign_groups(make_runs({}, {"status": "diverged"}, {"status": "running"}, {}), [])
    values = make_values(*((f"run{i}", "test/accuracy", None, value) for i, value in enumerate((0.9, 0.1, 0.2, 0.8))))
    summary = tables.summarize_groups(runs, values)
    assert summary.loc[0, ["metric", "n", "min", "max"]].tolist() == ["test/accuracy", 2, 0.8, 0.9]


@pytest.mark.parametrize(
    ("metric", "mean", "sd", "n", "text"),
    [
        ("test/accuracy", 0.97421, 0.0021, 3, "97.42 ± 0.21 (n=3)"),
        ("test/accuracy@bim", 0.97421, float("nan"), 1, "97.42 (n=1)"),
        ("peak_memory_bytes", 2**20 * 12.34, 0.0, 2, "12.3 ± 0.0 (n=2)"),
        ("train/loss", 0.123456, 0.0123, 3, "0.123 ± 0.012 (n=3)"),
        ("train/loss", 1e-5, 2e-6, 3, "0.0000100 ± 0.0000020 (n=3)"),
        ("train/loss", 0.0, 0.0, 3, "0.0000 ± 0.0000 (n=3)"),
        ("train/loss", float("nan"), float("nan"), 2, "nan ± nan (n=2)"),
        ("train/loss", float("inf"), float("nan"), 2, "inf ± nan (n=2)"),
        ("step_time_ms", 1234.5678, 120.0, 3, "1235 ± 120 (n=3)"),
        ("samples_per_s", 1.5e12, float("nan"), 1, "1.500e+12 (n=1)"),
    ],
)
def test_a_cell_has_as_many_digits_as_its_sd_supports(metric: str, mean: float, sd: float, n: int, text: str) -> None:
    assert tables.cell(metric, mean, sd, n) == text


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        ("test/accuracy@bim", "test/accuracy@bim (%)"),
        ("peak_memory_bytes", "peak_memory (MiB)"),
        ("step_time_ms", "step_time_ms"),
    ],
)
def test_a_heading_names_the_unit(metric: str, text: str) -> None:
    assert tables.heading(metric) == text


@pytest.mark.parametrize(
    ("fraction", "expected"), [(0.5, [2, 1]), (1.0, [4, 3]), (0.25, [1]), (0.49, [1, 1]), (0.1, [])]
)
def test_a_fraction_is_of_each_runs_own_schedule(fraction: float, expected: list[Any]) -> None:
    """One run has four epochs planned; the other was planned in steps, which took three epochs."""
    runs = make_runs({"epochs": 4}, {"epochs": None, "iterations": 99})
    values = make_values(*(("run0", "m", e, e) for e in (1, 2, 3, 4)), *(("run1", "m", e, e) for e in (1, 2, 3)))
    assert tables.at_fraction(values, runs, fraction).sort_values("run_id")["value"].tolist() == expected


def test_rounding_loses_no_epoch_of_a_fraction() -> None:
    runs, values = make_runs({"epochs": 100}), make_values(*(("run0", "m", e, e) for e in range(1, 101)))
    assert tables.at_fraction(values, runs, 0.29)["value"].tolist() == [29]


@pytest.mark.parametrize(
    ("mean", "sd", "decimals"),
    [
        (99.0, 1.0, 1), (99.0, 0.99, 2), (99.0, 10.0, 0), (99.0, 1e6, 0), (99.0, 1e-9, 8), (99.0, 1e-7, 8),
        (99.0, 1e-6, 7), (1.0, 0.0, 3), (-1.0, math.nan, 3), (9.99, math.inf, 3), (10.0, 0.0, 2), (1e5, 0.0, 0),
        (0.0, math.nan, 4), (math.inf, math.nan, 4),
    ],
)  # fmt: skip
def test_decimals_are_few_but_enough(mean: float, sd: float, decimals: int) -> None:
    assert tables.significant_decimals(mean, sd) == decimals


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e7, "1.000e+07"), (-1e7, "-1.000e+07"), (9_999_999.0, "9999999.0"), (-math.inf, "-inf"), (math.nan, "nan")],
)
def test_only_large_numbers_have_an_exponent(value: float, text: str) -> None:
    assert tables.format_number(value, 1) == text


def test_groups_without_values_have_an_empty_summary() -> None:
    runs, _ = tables.assign_groups(make_runs({"norm": "none"}), ["norm"])
    summary = tables.summarize_groups(runs, make_values())
    assert summary.columns.tolist() == ["group", "metric", "mean", "sd", "n", "min", "max", "ci95_low", "ci95_high"]


def test_statistics_belong_to_their_group_and_metric() -> None:
    runs, _ = tables.assign_groups(make_runs({"norm": "b"}, {"norm": "a"}, {"norm": "b"}), ["norm"])
    values = make_values(
        *((f"run{i}", name, None, i + shift) for i in range(3) for name, shift in (("x", 0), ("w", 10)))
    )
    summary = tables.summarize_groups(runs, values)
    assert summary[["group", "metric", "mean", "n"]].to_numpy().tolist() == [
        [0, "w", 11, 1], [0, "x", 1, 1], [1, "w", 11, 2], [1, "x", 1, 2]
    ]  # fmt: skip


def test_a_number_that_rounds_to_zero_has_no_sign() -> None:
    assert tables.format_number(-0.004, 2) == "0.00"
    assert tables.format_number(-0.005001, 2) == "-0.01"
