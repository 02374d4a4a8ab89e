"""Tables on terminals of 80, 120 and 200 columns: ids, names and numbers stay whole."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest

from normbench_cli.cli._columns import Row
from normbench_cli.cli._document import print_document
from normbench_cli.cli._output import print_table
from normbench_cli.cli._tables import print_results
from normbench_cli.config import RunConfig
from normbench_cli.experiments.result import RunResult
from normbench_cli.reporting.document import Cell, Document, Table
from tests.support import RunCommand

WIDTHS = [80, 120, 200]
METRICS = {
    "train/loss": 0.02684,
    "test/accuracy": 0.9361,
    "step_time_ms": 32.2,
    "samples_per_s": 2035.0,
    "solver/iterations_mean": 4.25,
    "saved_activation_bytes": 48e6,
}


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What a function prints on a terminal of this width, without escape codes unless asked for."""

    def show(width: int, do: Callable[[], object], *, codes: bool = False) -> str:
        monkeypatch.setattr(sys, "stdout", stdout := Terminal())
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", str(width))
        do()
        text = stdout.getvalue()
        return text if codes else re.sub(r"\x1b\[[\d;]*m", "", text)

    return show


def lines_of(text: str) -> list[str]:
    return text.splitlines()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_summary_of_train_breaks_no_id_and_no_name(shown: Callable[..., str], width: int) -> None:
    norms = ["augnorm:phi=1.5", "augnorm:phi=1.2", "popnorm:kappa=8,remove=none", "weightstandardization+groupnorm"]
    results = [
        RunResult(f"d322c4f{seed}", "finished", RunConfig(norm=norm, seed=seed), METRICS, fingerprint="f")
        for seed, norm in enumerate(norms)
    ]
    text = shown(width, lambda: print_results(results))
    words = set(text.split())
    assert {result.id for result in results} <= words
    assert {"augnorm:phi=1.5", "augnorm:phi=1.2", "popnorm:kappa=8,remove=none", "93.61%", "2,035"} <= words
    assert "45.8 MiB" in text
    assert "In common: act relu, model resnet20, data digits." in " ".join(text.split())
    assert max(map(len, lines_of(text))) <= width


def wide_table(columns: int) -> Table:
    names = [f"metric_{number} (%)" for number in range(columns)]
    cells = [Cell("93.00 ± 1.00 (n=3)", 93.0, bold=number == 1) for number in range(columns)]
    return Table(
        "t", ["norm", "act", *names], [[Cell("popnorm:kappa=8,remove=none"), Cell("relu"), *cells]] * 2, keys=2
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_many_columns_become_further_tables_with_the_names_of_the_rows(shown: Callable[..., str], width: int) -> None:
    text = shown(width, lambda: print_document(Document("t", {}, [wide_table(12)])))
    assert max(map(len, lines_of(text))) <= width
    assert text.count("93.00 ± 1.00 (n=3)") == 24
    tables = len(re.findall(r"^norm ", text, re.M))
    assert text.count("popnorm:kappa=8,remove=none") == text.count("relu") == 2 * tables
    assert tables > 1


MARKED = Table(
    "",
    ["a", "b"],
    [[Cell("x"), Cell("1.00", bold=True)], [Cell("y"), Cell("0.90", underline=True)]],
    ["Bold: the best.", "Underlined: ties.", "More."],
)


def test_marks_are_drawn_on_a_terminal(shown: Callable[..., str]) -> None:
    text = shown(80, lambda: print_document(Document("t", {}, [MARKED])), codes=True)
    assert "\x1b[1m1.00" in text
    assert "\x1b[4m0.90" in text
    assert "Bold: the best." in text


def test_plain_text_does_not_explain_marks_that_it_has_not(capsys: pytest.CaptureFixture[str]) -> None:
    print_document(Document("t", {}, [MARKED]))
    assert capsys.readouterr().out.splitlines()[-1] == "More."
    print_document(Document("t", {}, [MARKED]))
    assert "Bold" not in capsys.readouterr().out


def test_a_cell_of_text_folds_between_words(shown: Callable[..., str]) -> None:
    rows: list[Row] = [{"run": "d322c4f1", "message": "a word and another word " * 6}]
    text = shown(40, lambda: print_table(rows))
    assert max(map(len, lines_of(text))) <= 40
    assert "d322c4f1" in text


@pytest.mark.parametrize("width", WIDTHS)
def test_runs_list_breaks_no_id(
    shown: Callable[..., str], normbench: RunCommand, enter: Callable[..., Any], width: int
) -> None:
    ids = [enter(0.5, norm="popnorm:kappa=8,remove=none", tag="a tag of some words", seed=seed) for seed in range(3)]
    text = shown(width, lambda: normbench("runs", "list"))
    assert set(ids) <= set(text.split())
    assert "popnorm:kappa=8,remove=none" in text.split()
