"""Lists of seeds are read as written; derived seeds are those that every recorded run was made with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from normbench_cli.errors import UsageError
from normbench_cli.seeds import LARGEST_SEED, STREAMS, Stream, derive, parse_seeds


@pytest.mark.parametrize(("texts", "seeds"), [(["3"], [3]), (["0-2"], [0, 1, 2]), (["1,5", "5", "7-8"], [1, 5, 7, 8])])
def test_seeds_are_read(texts: list[str], seeds: list[int]) -> None:
    assert parse_seeds(texts) == seeds


@pytest.mark.parametrize("text", ["5-2", "x", "-1", "1-", "0-99999"])
def test_wrong_seeds_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_seeds([text])


@pytest.mark.parametrize(
    ("stream", "derived"),
    [("epoch", 9_000_031), ("weights", 900_031), ("fold", 9_000_031), ("fold_dropout", 9_500_040)],
)
def test_derived_seeds_never_change(stream: Stream, derived: int) -> None:
    assert derive(9, stream, 4) == derived


@given(seed=st.integers(0, LARGEST_SEED - 1), index=st.integers(0, 99_999))
def test_streams_of_neighboring_seeds_do_not_overlap(seed: int, index: int) -> None:
    for stream in STREAMS:
        assert derive(seed, stream, index) < derive(seed + 1, stream, 0)
        assert derive(seed, stream, index) < 2**63
