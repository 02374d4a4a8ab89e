"""A norm's share of a step, and examples a second, by hand; the share grows with the ratio and has its interval."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from normbench_cli.experiments.profiling.own_cost import rate_columns, share_columns, share_of, step_metrics
from normbench_cli.measure.timing import Timing, ratio

times = st.lists(st.floats(0.1, 100), min_size=5, max_size=5)


def test_the_share_is_what_the_step_takes_more_than_without_the_norm() -> None:
    own, without = Timing("a", [10.0, 20.0, 40.0, 10.0, 10.0]), Timing("none", [8.0, 16.0, 32.0, 8.0, 8.0])
    assert share_of(own, without).median == pytest.approx(0.2)
    assert share_of(without, own).median == pytest.approx(-0.25)
    assert share_columns(own, None) == {"share": None, "share_low": None, "share_high": None}
    metrics = step_metrics(own, without, 128)
    assert metrics == {"samples_per_s": 12_800, "norm_share": pytest.approx(0.2)}
    assert step_metrics(own, None, 128) == {"samples_per_s": 12_800}


@settings(max_examples=20)
@given(times, times)
def test_the_share_and_its_interval_are_those_of_the_ratio(own: list[float], without: list[float]) -> None:
    share = share_of(Timing("a", own), Timing("none", without))
    times_ratio = ratio(Timing("a", own), Timing("none", without))
    assert share.low <= share.median <= share.high < 1
    assert share.median == pytest.approx(1 - 1 / times_ratio.median)
    assert share.low == pytest.approx(1 - 1 / times_ratio.low)
    assert share.high == pytest.approx(1 - 1 / times_ratio.high)


def test_rates_are_examples_over_time() -> None:
    row = rate_columns(Timing("a", [10.0] * 5), Timing("batchnorm", [5.0] * 5), 64)
    assert (row["median"], row["iqr"], row["n"], row["ratio"]) == (6400, 0, 5, 0.5)
    assert rate_columns(Timing("a", [10.0] * 5), None, 64)["ratio"] is None
