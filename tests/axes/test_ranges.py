"""Ranges: both ends, the count, even steps, short numbers; what is no range is refused with the way to write one."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from normbench_cli.axes.ranges import is_range, read_range, read_whole_range
from normbench_cli.errors import UsageError

ENDS = st.floats(1e-6, 1e6).map(lambda number: float(f"{number:.6g}"))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1.1..1.9/5", [1.1, 1.3, 1.5, 1.7, 1.9]),
        ("-0.1..0.2/4", [-0.1, 0.0, 0.1, 0.2]),
        ("1..0/3", [1.0, 0.5, 0.0]),
        ("log:0.01..1/3", [0.01, 0.1, 1.0]),
        ("log:0.01..1/7", [0.01, 0.0215443469003, 0.0464158883361, 0.1, 0.215443469003, 0.464158883361, 1.0]),
        ("1e-5...5/2", [1e-5, 0.5]),
    ],
)
def test_a_range_is_its_numbers(text: str, numbers: list[float]) -> None:
    assert is_range(text)
    assert read_range(text, "lr") == numbers


@settings(max_examples=50)
@given(ENDS, ENDS, st.integers(2, 50), st.booleans())
def test_a_range_has_both_ends_and_equal_steps(first: float, last: float, count: int, log: bool) -> None:
    if first == last:
        return
    found = read_range(f"{'log:' * log}{first}..{last}/{count}", "lr")
    assert (found[0], found[-1], len(found)) == (first, last, count)
    scaled = [math.log(number) for number in found] if log else found
    step = (scaled[-1] - scaled[0]) / (count - 1)
    size = max(abs(scaled[0]), abs(scaled[-1]), 1.0 if log else 0.0)
    assert scaled == pytest.approx([scaled[0] + step * at for at in range(count)], rel=0, abs=1e-11 * size)
    assert all(len(f"{number:.12g}") >= len(repr(number)) - len(".0") for number in found)


def test_whole_numbers_stay_whole() -> None:
    assert read_whole_range("log:2..512/9", "batch_size") == [2**power for power in range(1, 10)]
    assert read_whole_range("16..64/4", "batch_size") == [16, 32, 48, 64]
    with pytest.raises(UsageError, match=r"batch_size=16\.\.64/6 has 25\.6, which is not a whole number"):
        read_whole_range("16..64/6", "batch_size")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0.1..1", "lr=0.1..1 is not a range; write FIRST..LAST/COUNT, such as 1.1..1.9/5, or log:0.01..1/7"),
        ("log:0.1", "lr=log:0.1 is not a range"),
        ("0.1..x/3", "is not a range"),
        ("1e4000..1/3", "is not a range"),
        ("1..2/1", "has 1 value; give 2 to 10,000"),
        ("1..2/99999", "has 99999 values; give 2 to 10,000"),
        ("1e400..1/3", "has no numbers between its ends; give two different finite numbers"),
        ("2..2/3", "has no numbers between its ends"),
        ("log:0..1/3", "ends at 0, which has no logarithm; give ends above 0"),
    ],
)
def test_what_is_no_range_is_refused(text: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_range(text, "lr")
    assert says in str(refused.value)
