"""A suite's question in a document: the verdict in a sentence, a row for each answer, and the figures."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from normbench_cli.reporting.document import Cell, Figure, Paragraph, Table
from normbench_cli.reporting.plots.numbers import heading
from normbench_cli.reporting.plots.text import plain
from normbench_cli.reporting.reproduction.answers import Answer, answers_of, sentence
from normbench_cli.reporting.reproduction.cells import Measured, factor_of
from normbench_cli.reporting.reproduction.compare import number
from normbench_cli.reporting.reproduction.scores import read_scores
from normbench_cli.store import Store
from normbench_cli.store.metric_names import MetricName, parse_metric
from normbench_cli.suites import Cell as SuiteCell
from normbench_cli.suites import Place, Scale, Suite

COLUMNS = ("where", "best", "mean", "n", "not distinguishable from it", "significantly worse")
ON_STAND_INS = "Nothing is decided on stand-ins. "
NONE = "-"
MOST_NAME = 100  # characters of a file name
Cells = Mapping[tuple[str, str, str], Measured]  # suite, row, column


@dataclass(frozen=True)
class Asked:
    """A suite with its answers, each with the mean of the best as text."""

    suite: Suite
    answers: Sequence[tuple[Answer, str]]
    is_decided: bool

    @property
    def verdict(self) -> str:
        return self.sentence(*self.answers[-1])

    def sentence(self, found: Answer, shown: str) -> str:
        return ("" if self.is_decided else ON_STAND_INS) + sentence(found, shown)


def ask(store: Store, suite: Suite, scale: Scale, recorded: Mapping[Place, str], measured: Cells) -> Asked:
    """The answers from the recorded runs; the last is the verdict."""
    found = answers_of(suite, read_scores(store, suite, scale, recorded))
    shown = [(one, mean_text(one, measured.get((suite.name, one.best, one.where)))) for one in found]
    return Asked(suite, shown, scale.name != "smoke")


def mean_text(found: Answer, measured: Measured | None) -> str:
    """Mean ± sd of the best, as in the suite's table if it is one of its cells."""
    if found.summary is None:
        return number(None)
    if measured is not None and measured.mean is not None:
        return number(measured.mean, measured.sd if measured.n > 1 else None, found.unit)
    sd = None if math.isnan(found.summary.sd) else found.summary.sd
    return number(found.summary.mean, sd, found.unit)


def verdict_paragraph(asked: Asked) -> Paragraph:
    question = asked.suite.question
    assert question is not None
    return Paragraph(f"{question.text} {asked.verdict} Equal for all: {question.equal}.")


def answers_table(asked: Asked) -> Table:
    rows = [
        [
            Cell(found.where),
            Cell(found.best or NONE),
            Cell(with_unit(shown, found), bold=asked.is_decided and found.is_decidable and not found.ties),
            Cell(found.counted, found.n),
            Cell(", ".join(found.ties) or NONE),
            Cell(", ".join(found.worse) or NONE),
        ]
        for found, shown in asked.answers
    ]
    return Table(f"{asked.suite.name}: which is best", COLUMNS, rows, list(notes_of(asked)))


def with_unit(shown: str, found: Answer) -> str:
    return f"{shown} {found.unit}" if found.unit and found.summary else shown


def notes_of(asked: Asked) -> Iterator[str]:
    if not asked.is_decided:
        yield ON_STAND_INS.strip()
    by = {found.of for found, _ in asked.answers if found.best}
    if "seeds" in by:
        yield "Over seeds: the sign-flip permutation test of pairs with equal seed, Holm over all pairs of rows."
    if "folds" in by:
        yield (
            "Over folds: the t-test of pairs with equal seed and fold, with the variance that folds share by their "
            "common training examples (Nadeau & Bengio 2003), Holm over all pairs of rows."
        )
    if asked.suite.question and asked.suite.question.best == "range":
        yield "Decades: from the least to the largest value within a point of a row's best; diverged runs are outside."
    few = {found.counted: found.needed for found, _ in asked.answers if not found.is_decidable}
    for counted, needed in few.items():
        yield f"{counted} cannot tell these rows apart: that takes {needed}." if needed else "Nothing is measured yet."


def question_figures(asked: Asked, measured: Cells) -> Iterator[Figure]:
    """Yield a figure per panel: one line per column if the rows have positions on the axis, else one line per row."""
    suite, question = asked.suite, asked.suite.question
    assert question is not None
    for panel in dict.fromkeys(cell.panel for cell in suite.cells if question.counts(cell.column)):
        cells = [cell for cell in suite.cells if cell.panel == panel and question.counts(cell.column)]
        points = points_of(suite, [cell for cell in cells if cell.at is not None], measured)
        if len(points):
            absent = list(dict.fromkeys(cell.row for cell in cells if cell.at is None))
            notes = [f"In the table only, without a place on this axis: {', '.join(absent)}."] if absent else []
            name = re.sub(r"[^\w.]+", "-", f"{suite.name} {panel}".strip())[:MOST_NAME]
            title = suite.title + (f": {panel}" if panel else "")
            yield Figure(title, name, "strength", points, options_of(cells), notes)


def points_of(suite: Suite, cells: Sequence[SuiteCell], measured: Cells) -> pd.DataFrame:
    """Columns group, at, mean, sd, n, unit_of_at, runs; values as recorded."""
    assert suite.question is not None
    along, by_rows = plain(suite.question.along or "value"), rows_have_places(cells)
    points = []
    for cell in cells:
        found = measured[suite.name, cell.row, cell.column]
        if found.mean is not None:
            factor = factor_of(cell)
            points.append(
                {
                    "group": cell.column if by_rows else cell.row,
                    "at": cell.at,
                    "mean": found.mean / factor,
                    "sd": math.nan if found.sd is None else found.sd / factor,
                    "n": found.n,
                    "unit_of_at": along,
                    "runs": found.runs,
                }
            )
    return pd.DataFrame(points)


def rows_have_places(cells: Sequence[SuiteCell]) -> bool:
    """Whether `at` belongs to the rows: it is equal in all columns of a row and differs between rows."""
    places: dict[str, set[float | None]] = {}
    for cell in cells:
        places.setdefault(cell.row, set()).add(cell.at)
    return all(len(found) == 1 for found in places.values()) and len(set().union(*places.values())) > 1


def options_of(cells: Sequence[SuiteCell]) -> dict[str, Any]:
    """The figure's options; the metric goes without its condition's parameters, which are on the axis."""
    name = parse_metric(cells[0].metric)
    metric = str(MetricName(name.split, name.name, name.condition.partition(":")[0]))
    options = {"metric": metric, "label": heading(metric)}
    if any(cell.sd for cell in cells):
        options["interval"] = "mean ± 1 sd (ddof=0) over n folds"
    return options


def answer_records(asked: Sequence[Asked], scale: Scale) -> Iterator[dict[str, Any]]:
    for one in asked:
        assert one.suite.question is not None
        for found, shown in one.answers:
            yield {
                "suite": one.suite.name,
                "scale": scale.name,
                "question": one.suite.question.text,
                "equal": one.suite.question.equal,
                "where": found.where,
                "best": found.best,
                "best_mean": with_unit(shown, found),
                "ties": ", ".join(found.ties),
                "worse": ", ".join(found.worse),
                "n": found.n,
                "of": found.of,
                "needed": found.needed,
                "answer": one.sentence(found, shown),
            }
