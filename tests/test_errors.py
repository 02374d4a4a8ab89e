"""What is quoted of another library's error."""

from __future__ import annotations

import pytest

from normbench_cli.errors import first_sentence, last_line


@pytest.mark.parametrize(
    ("error", "quoted"),
    [
        (ValueError("Weights only load failed. This file can still be loaded.\nMore."), "Weights only load failed"),
        (
            RuntimeError("Error(s) in loading state_dict for Net:\n\tMissing key(s)"),
            "Error(s) in loading state_dict for Net",
        ),
        (OSError(), "OSError"),
        (KeyError("a.b"), "'a.b'"),
    ],
)
def test_the_first_sentence_of_an_error(error: Exception, quoted: str) -> None:
    assert first_sentence(error) == quoted


def test_a_long_sentence_is_cut() -> None:
    assert first_sentence(ValueError("x" * 500), most=10) == "x" * 10


@pytest.mark.parametrize(
    ("error", "quoted"),
    [(OSError("Traceback:\n  line 1\nValueError: no\n"), "ValueError: no"), (OSError(" "), "OSError")],
)
def test_the_last_line_of_an_error(error: Exception, quoted: str) -> None:
    assert last_line(error) == quoted
