"""What a terminal would obey is shown instead, everything else stays."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from normbench_cli.printable import masked, printable

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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://me:secret@host:5432/name", "postgresql://me:***@host:5432/name"),
        ("--db=postgresql+psycopg://me:s%40/cr:et@host/n", "--db=postgresql+psycopg://me:***@host/n"),
        ("postgresql://:secret@host", "postgresql://:***@host"),
        ("postgresql://me:se@cret@host/name", "postgresql://me:***@host/name"),  # @ is not written %40
        (
            "postgresql:///n?user=me&password=secret&sslpassword=secret",
            "postgresql:///n?user=me&password=***&sslpassword=***",
        ),
        ('{"a": "p://me:secret@h", "b": "test/accuracy@bim"}', '{"a": "p://me:***@h", "b": "test/accuracy@bim"}'),
        (
            "postgresql://me@host:5432/name and test/accuracy@bim",
            "postgresql://me@host:5432/name and test/accuracy@bim",
        ),
        ("http://host:80/x", "http://host:80/x"),
    ],
)
def test_passwords_of_urls_are_masked(text: str, shown: str) -> None:
    assert masked(text) == shown
