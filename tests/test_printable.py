"""What a terminal would obey is shown instead, everything else stays."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from normbench_cli.printable import printable

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=[]), max_size=40)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x9b31m", r"\x9b31m"),
        ("a\rb\x08", r"a\rb\x08"),
        ("abc\u202ecba\u2066", r"abc\u202ecba\u2066"),
        ("line\u2028end", r"line\u2028end"),
        ("\udcff", r"\udcff"),
        ("two\nlines\tand ± ü 漢 🙂", "two\nlines\tand ± ü 漢 🙂"),
    ],
    ids=ascii,
)
def test_what_is_obeyed_is_shown(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(ANY_TEXT)
def test_nothing_that_controls_is_left(text: str) -> None:
    shown = printable(text)
    assert {letter for letter in shown if unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")} <= {"\n", "\t"}
    bidirectional = {"RLE", "LRE", "RLO", "LRO", "PDF", "RLI", "LRI", "FSI", "PDI"}
    assert not {unicodedata.bidirectional(letter) for letter in shown} & bidirectional
    assert printable(shown) == shown
    assert shown.encode().decode() == shown
