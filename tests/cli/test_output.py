"""Tables, JSON and hints as they reach people and programs."""

from __future__ import annotations

import io
import json
import math
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from normbench_cli.cli._columns import aligned, is_numeric
from normbench_cli.cli._output import hint, print_json, print_table

ROWS = [{"name": "a", "value": "1.50"}, {"name": "longer", "value": "-"}, {"name": "c", "value": "-20", "more": "x\ny"}]


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_plain_columns_are_aligned_numbers_to_the_right() -> None:
    assert aligned(ROWS) == "name    value  more\na        1.50\nlonger      -\nc         -20  x y"


def test_piped_output_has_no_escape_codes(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(ROWS, "title", "caption")
    assert capsys.readouterr().out == f"title\n{aligned(ROWS)}\n\ncaption\n"


def test_a_terminal_gets_a_drawn_table_without_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", stdout := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    print_table([{"note": "[red]not markup[/red]"}], title="title", caption="caption")
    shown = stdout.getvalue()
    assert "[red]not markup[/red]" in shown
    assert "─" in shown


@pytest.mark.parametrize(
    ("cells", "numeric"),
    [
        (["1.50", "-20", "-", ""], True),
        (["93.61%", "2,035", "1e-05", "nan", "+inf"], True),
        (["91.00 ± 1.00 (n=3)", "45.8 MiB", "0.97 [0.95, 1.02]"], True),
        (["8c1f332f", "04fe0229"], False),
        (["2026-11-19"], False),
        (["-"], False),
    ],
    ids=str,
)
def test_columns_of_numbers_are_recognized(cells: list[str], numeric: bool) -> None:
    assert is_numeric([{"column": cell} for cell in cells], "column") is numeric


def test_on_a_narrow_terminal_words_stay_whole_as_long_as_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", stdout := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    row = {"run": "ea8a4100", "norm": "batchnorm", "train loss at the end": "0.0268", "saved for backward": "45.8 MiB"}
    monkeypatch.setenv("COLUMNS", "46")
    print_table([row])
    assert {"ea8a4100", "batchnorm", "0.0268"} <= set(stdout.getvalue().split())


def test_a_table_too_wide_for_the_terminal_is_drawn_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", stdout := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "30")
    row = {"run": "ea8a4100", "norm": "batchnorm", "status": "finished", "accuracy": "93.61%", "step ms": "32.2"}
    print_table([row, row])
    shown = re.sub(r"\x1b\[[\d;]*m", "", stdout.getvalue())
    assert max(map(len, shown.splitlines())) <= 30
    assert shown.split().count("ea8a4100") == 4
    assert {"batchnorm", "finished", "93.61%", "32.2"} <= set(shown.split())


@pytest.mark.parametrize("tty", [False, True])
def test_an_empty_table_is_no_error(monkeypatch: pytest.MonkeyPatch, tty: bool) -> None:
    stdout = Terminal() if tty else io.StringIO()
    monkeypatch.setattr(sys, "stdout", stdout)
    print_table([])
    assert stdout.getvalue() == "\n"


def test_json_holds_only_types_that_json_has(capsys: pytest.CaptureFixture[str]) -> None:
    values = [math.nan, math.inf, np.float64("nan"), np.int64(3), np.float32(0.5), True, None, (1, 2), Path("p")]
    print_json({"values": values, "at": datetime(2026, 1, 1, tzinfo=UTC), 3: {"x": -math.inf}})
    assert json.loads(capsys.readouterr().out) == {
        "values": [None, None, None, 3, 0.5, True, None, [1, 2], "p"],
        "at": "2026-01-01T00:00:00+00:00",
        "3": {"x": None},
    }


def test_hints_go_to_stderr_unless_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    hint("look")
    hint("not this", quiet=True)
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "look\n")


def test_characters_missing_from_the_encoding_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    print_table([{"accuracy": "97.4 ± 0.2"}])
    stream.flush()
    assert b"97.4 ? 0.2" in stream.buffer.getvalue()


def test_what_a_terminal_obeys_is_shown_in_tables_and_hints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"name": "\x1b]0;title\x07", "value\x9b": "abc\u202e"}]
    print_table(rows)
    hint("\x1b[2J")
    plain = capsys.readouterr()
    monkeypatch.setattr(sys, "stdout", stdout := Terminal())
    monkeypatch.setenv("TERM", "dumb")
    print_table(rows)
    for shown in (plain.out, stdout.getvalue()):
        assert r"\x1b]0;title\x07" in shown
        assert r"abc\u202e" in shown
        assert r"value\x9b" in shown
    assert not set("\x1b\x9b\x07\u202e") & set(plain.out + plain.err + stdout.getvalue())
