"""Numbers as text."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from normbench_cli.nightly.numbers import band_text, change_text, four_digits, value_text, values_text
from normbench_cli.nightly.series import Finding
from tests.nightly.pages.nights import ACCURACY, SAVED, SOLVER, STEP


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.0, "0"), (12.4, "12.40"), (0.012341, "0.01234"), (123456.7, "123,457"), (1e-9, "1.000e-09"), (-3.5, "-3.500")],
)
def test_four_digits(number: float, text: str) -> None:
    assert four_digits(number) == text


@given(st.floats(-1e300, 1e300).filter(bool))
def test_at_least_four_digits_are_right(number: float) -> None:
    assert math.isclose(float(four_digits(number).replace(",", "")), number, rel_tol=6e-4)


def test_values_are_shown_in_the_unit_that_people_read() -> None:
    assert value_text(STEP, 12.4) == "12.40 ms"
    assert value_text(ACCURACY, 0.9722) == "97.22 %"
    assert value_text(SAVED, 2.0**20) == "1.000 MiB"
    assert value_text(SOLVER, 4.25) == "4.250"
    assert value_text(STEP, math.nan) == "-"
    assert values_text(STEP, [12.9, 13.1, 12.8]) == "12.90, 13.10, 12.80 ms (median 12.90 ms)"


def test_values_that_count_to_the_last_digit_have_all_digits() -> None:
    texts = {value_text(SOLVER, value, exact=True) for value in (0.1, math.nextafter(0.1, 1))}
    assert len(texts) == 2


@pytest.mark.parametrize(
    ("value", "expected", "text"),
    [(2.2, 2.0, "+10.0 %"), (1.0, 2.0, "-50.0 %"), (2.0, 2.0, "0 %"), (0.0, 0.0, "0 %"), (3.0, 0.0, "+3 ms")],
)
def test_a_change_is_relative_where_it_can_be(value: float, expected: float, text: str) -> None:
    change = value / expected - 1 if expected else math.inf
    assert change_text(Finding(STEP, "regression", value, expected, change=change)) == text


def test_a_change_of_the_last_digits_is_not_shown_as_none() -> None:
    finding = Finding(ACCURACY, "regression", 0.97219999, 0.9722, change=0.97219999 / 0.9722 - 1)
    assert change_text(finding) == "-1e-06 %"


def test_a_band() -> None:
    finding = Finding(STEP, "fine", 12.4, 12.4, 11.9, 12.9)
    assert band_text(finding) == "11.90 to 12.90 ms"
    assert band_text(replace(finding, low=12.4, high=12.4)) == "12.40 ms"
    assert band_text(Finding(STEP, "too short", 12.4)) == "-"
