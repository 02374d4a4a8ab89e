"""A curve as one word."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from normbench_cli.reporting.plots.sparkline import ASCII, BLOCKS, sparkline

NUMBERS = st.floats(-1e300, 1e300)


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([1, 2, 3, 4, 5, 6, 7, 8], "▁▂▃▄▅▆▇█"),
        ([5, 5], "▅▅"),
        ([0, math.nan, 1], "▁ █"),
        ([math.inf], ""),
        ([], ""),
        ([0, 0, 8, 8], "▁▁██"),
    ],
)
def test_heights_go_from_the_lowest_value_to_the_highest(values: list[float], shown: str) -> None:
    assert sparkline(values) == shown


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "no such encoding", None])
def test_a_stream_without_blocks_gets_ascii(encoding: str | None) -> None:
    assert sparkline([1, 2], encoding=encoding) == ASCII[0] + ASCII[-1]


@given(st.lists(NUMBERS, min_size=1, max_size=60), st.integers(1, 20))
def test_it_is_never_wider_than_asked_and_has_an_extreme(values: list[float], width: int) -> None:
    shown = sparkline(values, width)
    assert len(shown) == min(len(values), width)
    assert set(shown) <= set(BLOCKS)
    assert len(set(shown)) == 1 or {BLOCKS[0], BLOCKS[-1]} <= set(shown)
