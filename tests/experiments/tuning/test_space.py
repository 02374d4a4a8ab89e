"""What is searched: ranges are read in the words of the command line, and wrong ones refused in one line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from normbench_cli.errors import UsageError
from normbench_cli.experiments.tuning.space import Range, parse_space


def test_without_words_the_usual_settings_are_searched() -> None:
    assert list(parse_space([])) == ["lr", "weight_decay", "init_gain"]


@given(st.floats(1e-6, 1e3), st.floats(1.01, 1e3), st.booleans(), st.floats(0, 1))
def test_a_range_reads_as_it_is_written_and_its_values_stay_inside(
    low: float, factor: float, log: bool, place: float
) -> None:
    written = Range(float(f"{low:g}"), float(f"{low * factor:g}"), log)
    if written.low < written.high:
        assert parse_space([f"lr={written}"]) == {"lr": written}
        value = written.rounded("lr", written.low + place * (written.high - written.low))
        assert written.low <= value <= written.high
        assert value in (float(f"{value:.4g}"), written.low, written.high)


def test_a_counted_setting_gets_whole_numbers() -> None:
    assert Range(2, 512, log=True).rounded("batch_size", 33.4) == 33


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("lrr=0..1", "no setting 'lrr'; did you mean 'lr'"),
        ("norm=0..1", "--over norm: it is not a number that can be searched"),
        ("seed=0..9", "--over seed: it is not a number"),
        ("lr=0.1", "--over lr=0.1 is not a range; write log:0.001..1"),
        ("lr=1..0.1", "does not go up; write 0.1..1"),
        ("lr=log:0..1", "begins at 0, which has no logarithm"),
        ("lr=log:0.01..1/7", "lists values, and a range is searched; write log:0.01..1"),
        ("momentum=0..1.5", "reaches 1.5; give 0 or more and below 1"),
    ],
)
def test_a_wrong_range_is_refused_with_what_fits(text: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_space([text])
    assert says in str(refused.value)


def test_a_setting_is_searched_in_one_range() -> None:
    with pytest.raises(UsageError, match="--over names lr twice"):
        parse_space(["lr=0.1..1", "lr=log:0.1..1"])
