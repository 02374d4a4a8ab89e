"""A measured cell against the published one: the difference, and in units of the pooled sd."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from normbench_cli.reporting.reproduction.cells import Measured
from normbench_cli.reporting.reproduction.compare import Comparison, compare, number, pooled_sd
from normbench_cli.suites import Published


def test_the_difference_is_ours_minus_published() -> None:
    found = compare(Measured(mean=90.0, sd=3.0, n=10), Published(91.0, 4.0, n=10))
    assert found.difference == -1.0
    assert found.in_sd == pytest.approx(-1 / math.sqrt((9 + 16) / 2))


@pytest.mark.parametrize(
    ("measured", "published", "expected"),
    [
        (Measured(mean=90.0, n=1), Published(91.0, 4.0, n=10), Comparison(-1.0)),
        (Measured(mean=90.0, sd=1.0, n=3), Published(91.0), Comparison(-1.0)),
        (Measured(mean=90.0, sd=1.0, n=3), Published(None, kind="blank"), Comparison()),
        (Measured(), Published(91.0, 4.0, n=10), Comparison()),
        (Measured(mean=90.0, sd=0.0, n=3), Published(91.0, 0.0, n=3), Comparison(-1.0)),
        (Measured(mean=90.0), None, Comparison()),
    ],
    ids=range(6),
)
def test_what_is_not_known_is_left_out(measured: Measured, published: Published | None, expected: Comparison) -> None:
    assert compare(measured, published) == expected


@given(st.floats(0.1, 100), st.floats(0.1, 100), st.integers(2, 50), st.integers(2, 50))
def test_the_pooled_sd_lies_between_both(first: float, second: float, n1: int, n2: int) -> None:
    pooled = pooled_sd(first, n1, second, n2)
    assert pooled is not None
    assert min(first, second) * (1 - 1e-9) <= pooled <= max(first, second) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("value", "sd", "unit", "text"),
    [
        (82.0, 12.0, "%", "82.00 ± 12.00"),
        (0.9687, None, "fraction", "0.9687"),
        (344.0, None, "graphs", "344"),
        (123.456, None, "", "123.5"),
        (None, None, "%", "-"),
    ],
    ids=range(5),
)
def test_numbers_have_the_decimals_of_their_unit(value: float, sd: float | None, unit: str, text: str) -> None:
    assert number(value, sd, unit) == text
