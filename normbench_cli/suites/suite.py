"""A suite: a table or figure of a paper as settings, a grid and published numbers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

from normbench_cli.suites.figure import SuiteFigure
from normbench_cli.suites.question import Question

OF_DATA = "data/"  # prefix of metrics that describe a data set: nothing is trained for them

Kind = Literal["", "blank", "misaligned", "suspect"]
KINDS: tuple[Kind, ...] = ("", "suspect", "misaligned", "blank")  # from most to least comparable
OF_FIGURES = ("at", "panel")  # of a cell


class Place(NamedTuple):
    """The place of one run's value."""

    suite: str
    row: str
    column: str
    seed: int


@dataclass(frozen=True)
class Published:
    """What the paper prints in a cell.

    value: None if the cell is blank.  metric: the paper's name for what it measured.  unit: % or fraction for shares,
    otherwise what is counted.  n: how many runs or folds the value averages.  kind: whether the number can be taken at
    face value: `blank`, `misaligned` (the label is probably another row's), `suspect`.
    """

    value: float | None = None
    sd: float | None = None
    metric: str = ""
    unit: str = ""
    n: int | None = None
    kind: Kind = ""
    note: str = ""


@dataclass(frozen=True)
class Cell:
    """A cell: the paper's settings of its runs, the metric that it shows, and the published number.

    sd: the metric of the spread over folds; empty if the spread is over seeds.  at: the position on the axis of a
    question's figure; panel: which of several such figures.
    """

    row: str
    column: str
    settings: Mapping[str, Any]
    metric: str
    sd: str = ""
    curve: str = ""
    unit: str = ""
    published: Published | None = None
    at: float | None = None
    panel: str = ""

    @property
    def is_of_data(self) -> bool:
        return self.metric.startswith(OF_DATA)


@dataclass(frozen=True)
class Suite:
    """A table or a figure.  seeds: those of the paper's protocol.  scales: settings for `short` and `smoke`.  question:
    what the rows are compared for, if no paper says which is best.  figure: its numbers along a setting."""

    name: str
    title: str
    paper: str
    place: str
    cells: Sequence[Cell]
    seeds: Sequence[int] = (0,)
    over: Literal["seeds", "folds"] = "seeds"
    unit: str = ""
    notes: Sequence[str] = ()
    scales: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    question: Question | None = None
    figure: SuiteFigure | None = None

    @property
    def rows(self) -> list[str]:
        return list(dict.fromkeys(cell.row for cell in self.cells))

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(cell.column for cell in self.cells))

    def digest(self) -> str:
        """Hash of what is measured, sixteen hexadecimal digits; published numbers and figures do not enter."""
        cells = [{**asdict(cell), "published": None} for cell in self.cells]
        cells = [{key: cell[key] for key in cell if key not in OF_FIGURES} for cell in cells]
        text = json.dumps([cells, self.seeds, self.scales], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
