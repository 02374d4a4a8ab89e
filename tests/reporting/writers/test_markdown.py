"""Markdown: tables, marks, and text from the database as text."""

from __future__ import annotations

import re

import pytest

from normbench_cli.reporting.writers.markdown import escape, to_markdown
from tests.reporting.documents import NASTY, document_of


def test_a_document_begins_with_what_makes_it_again() -> None:
    lines = to_markdown(document_of("t")).splitlines()
    assert lines[:5] == [
        "# t",
        "",
        "- command: normbench report --tag 'x y'",
        "- database: results.db",
        "- runs: t",
    ]


def test_a_table_has_marks_and_notes() -> None:
    text = to_markdown(document_of("t"))
    assert "| norm | t |\n| --- | ---: |\n| t | **1.00 ± 0.10 (n=2)** |\n| \\[x\\] | <u>0.90 (n=1)</u> |\n\n" in text
    assert "\n\n&#35; note\n\n" in text


def test_text_is_text_everywhere() -> None:
    text = to_markdown(document_of(NASTY))
    without_marks = text.replace("<u>", "").replace("</u>", "").replace("**", "")
    assert not re.search(r"(?<!\\)[<>`*_\[$~]", without_marks)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {3}
    assert len(rows) == 4


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("# a", "&#35; a"),
        ("- a", "&#45; a"),
        ("1. a", "&#49;. a"),
        ("12) a", "&#49;2) a"),
        ("-a #", "&#45;a #"),
        ("a", "a"),
    ],
)
def test_the_first_sign_of_a_paragraph_begins_no_list(text: str, written: str) -> None:
    assert escape(text, first=True) == written
