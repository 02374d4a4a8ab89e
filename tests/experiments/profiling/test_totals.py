"""What the norms of a network cost together, by hand."""

from __future__ import annotations

import pytest

from normbench_cli.experiments.profiling.measure import Measured
from normbench_cli.experiments.profiling.steps import Place
from normbench_cli.experiments.profiling.totals import total_rows
from normbench_cli.measure.cases import LayerCase
from normbench_cli.measure.timing import Timing


def measured(shape: tuple[int, ...], count: int, **times: float) -> Measured:
    found = Measured(Place(case=LayerCase(shape), count=count))
    found.timings = {name: Timing(name, [ms] * 5) for name, ms in times.items()}
    return found


def test_sums_and_geometric_means_are_weighted_with_the_counts() -> None:
    rows = total_rows(
        [
            measured((8, 4), 3, none=1.0, batchnorm=2.0, popnorm=4.0),
            measured((8, 2), 1, none=1.0, batchnorm=10.0, popnorm=5.0),
        ]
    )
    (row,) = (row for row in rows if (row["contender"], row["reference"]) == ("popnorm", "batchnorm"))
    assert (row["shapes"], row["calls"], row["sum_ms"]) == (2, 4, 17.0)
    assert row["sum_ratio"] == row["sum_ratio_low"] == row["sum_ratio_high"] == 17 / 16
    assert row["geometric_mean"] == pytest.approx((2**3 * 0.5) ** 0.25)
    assert len(rows) == 3 * 2


def test_a_contender_that_is_missing_somewhere_has_no_total() -> None:
    rows = total_rows([measured((8, 4), 1, none=1.0, batchnorm=2.0, popnorm=4.0), measured((8, 2), 1, none=1.0)])
    assert {(row["contender"], row["reference"]) for row in rows} == {("none", "none")}


def test_a_single_shape_has_no_total() -> None:
    assert not total_rows([measured((8, 4), 5, none=1.0, batchnorm=2.0)])
