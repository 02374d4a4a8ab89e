"""Holm's correction."""

from __future__ import annotations

import math
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from normbench_cli.reporting.statistics import holm


def test_a_case_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@settings(max_examples=50)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_each_is_the_largest_scaled_p_up_to_its_rank(p_values: list[float]) -> None:
    ranked = sorted(p_values)
    scaled = [min(1.0, (len(ranked) - rank) * p) for rank, p in enumerate(ranked)]
    expected = [max(s for s, q in zip(scaled, ranked, strict=True) if q <= p) for p in p_values]
    with patch("gc.collect"):  # statsmodels collects garbage in every call
        assert holm(p_values) == pytest.approx(expected)


def test_what_was_not_tested_is_not_counted() -> None:
    found = holm([0.01, math.nan, 0.04])
    assert (found[0], found[2]) == pytest.approx((0.02, 0.04))
    assert math.isnan(found[1])
    assert holm([]) == []
