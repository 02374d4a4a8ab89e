"""A suite with a question as a document: verdict, answers, plots; every figure in a page is in the csv beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd

from normbench_cli import suites
from normbench_cli.reporting import files
from normbench_cli.reporting.document import Document, Figure, Paragraph, Table
from normbench_cli.reporting.plots import draw
from normbench_cli.reporting.reproduction.document import make_document
from normbench_cli.store import Store
from normbench_cli.suites import Place, Scale, Suite
from tests.reporting.reproduction.test_document import record
from tests.reporting.reproduction.test_pages import figures_missing

LAST, SD = "validation/accuracy@last", "validation/accuracy_sd0@last"


def recorded_folds(store: Store, suite: Suite) -> dict[Place, str]:
    """Ten folds of every row, better by three points for phi = 1.5 than for any other; one row is not run."""
    found: dict[Place, str] = {}
    for number, row in enumerate(suite.rows[:-1]):
        folds = [0.8 + 0.03 * (row == "phi = 1.5") + 0.001 * ((7 * fold + 3 * number) % 11) for fold in range(10)]
        metrics = {f"validation/accuracy@fold{fold}": value for fold, value in enumerate(folds)}
        metrics |= {LAST: sum(folds) / 10, SD: float(pd.Series(folds).std(ddof=0))}
        found |= record(store, suite, row, "last epoch", metrics, 9)
    return found


def verdict_of(document: Document) -> str:
    (verdict,) = [block.text for block in document.blocks if isinstance(block, Paragraph)]
    return verdict


def test_the_verdict_is_computed_and_at_smoke_nothing_is_decided(tmp_path: Path) -> None:
    suite = suites.find("questions/phi-mutag")
    with Store.open() as store:
        recorded = recorded_folds(store, suite)
        full, smoke = (make_document(store, [suite], Scale(name), recorded, {}) for name in ("full", "smoke"))
    assert verdict_of(full).startswith("Which phi is best on MUTAG? phi = 1.5 is best, 83.53 ± 0.32: all others are ")
    assert "(n=10 folds, Holm over 36 comparisons). Equal for all: 400 epochs" in verdict_of(full)
    assert verdict_of(smoke).startswith("Which phi is best on MUTAG? Nothing is decided on stand-ins. Undecided: ")
    answers = next(block for block in full.blocks if isinstance(block, Table) and "which is best" in block.title)
    assert [cell.text for cell in answers.rows[0]][:5] == ["last epoch", "phi = 1.5", "83.53 ± 0.32 %", "10 folds", "-"]
    (figure,) = [block for block in full.blocks if isinstance(block, Figure)]
    assert set(figure.points["group"]) == {"last epoch"}
    assert figure.points["at"].tolist() == [1.1, 1.2, 1.35, 1.5, 1.75, 2, 2.5, 3]
    assert figure.notes[0].endswith("without a place on this axis: learned in 1.2 to 2, learned in 1.1 to 3.")
    undrawn = replace(full, blocks=[block for block in full.blocks if not isinstance(block, Figure)])
    list(files.write_files(undrawn, tmp_path, ["md", "csv"], "page"))
    page, table = ((tmp_path / f"page.{form}").read_text() for form in ("md", "csv"))
    assert figures_missing(page, table) == []
    assert figures_missing(page.replace("83.53", "83.54"), table)


def test_panels_are_figures_with_a_line_a_row() -> None:
    suite = suites.find("questions/pruning")
    recorded: dict[Place, str] = {}
    with Store.open() as store:
        for column in ("BatchNorm, ReLU, 0.5", "BatchNorm, ReLU, 0.1", "LayerNorm, ReLU, 0.5"):
            keep = column.rpartition(" ")[2]
            values = {f"test/accuracy@prune:by={by},keep={keep}": 0.5 for by in ("gamma", "alive", "random")}
            ((place, run),) = record(store, suite, "|gamma|", column, values).items()
            recorded |= {place._replace(row=row): run for row in suite.rows}
        document = make_document(store, [suite], Scale("full"), recorded, {})
    first, second = [block for block in document.blocks if isinstance(block, Figure)]
    assert (first.name, second.name) == ("questions-pruning-BatchNorm-ReLU", "questions-pruning-LayerNorm-ReLU")
    assert first.points["group"].unique().tolist() == suite.rows
    assert sorted(first.points["at"].unique()) == [0.1, 0.5]
    axes = draw(first).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("share of channels kept", "test/accuracy@prune (%)")
