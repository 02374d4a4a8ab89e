"""The content of a report, independent of the file format: tables, figures and paragraphs under one head.

Every report is built as a `Document`; each format is one function that writes a `Document`.  Its text is plain: every
writer escapes what its own format would read as markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd


Tone = Literal["", "bad", "good", "doubtful"]
BOLD, UNDERLINED = "Bold:", "Underlined:"  # prefixes of the notes that explain marked cells


@dataclass(frozen=True)
class Cell:
    """A table cell: its text, and what an interactive page does with it.

    value: the number behind the text, by which a column is sorted.  bold: the best of its column or row.  underline:
    not significantly worse than the best.  runs: ids of the runs that the number was computed from.  tone: what color
    adds to the text.  link: a file beside this one that the text links to.
    """

    text: str
    value: float | None = None
    bold: bool = False
    underline: bool = False
    runs: tuple[str, ...] = ()
    tone: Tone = ""
    link: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of cells under column names, one cell per column.

    notes: what a reader must know to understand the table.  keys: how many of the first columns name a row.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    keys: int = 1


@dataclass(frozen=True)
class Figure:
    """A plot: its kind and its points, one row per point; `reporting.plots` lists the columns of each kind.

    name: the stem of its file.  options: what else the kind takes, such as a metric's name or a logarithmic axis.
    """

    title: str
    name: str
    kind: str
    points: pd.DataFrame
    options: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Paragraph:
    """Plain text between tables and figures.

    command: for copying, on its own line below the text.
    """

    text: str
    command: str = ""


@dataclass(frozen=True)
class Document:
    """A report.

    head: what reproduces it: command, date, database, runs, versions, data; in the order shown.
    runs: for each run id its settings, environment, status, metrics and the command that repeats it, as JSON values.
    records: the numbers behind the tables, one mapping per row, for CSV, JSON and parquet;
    without records these formats write the tables.
    lead: the conclusion in one sentence, shown first; the head then goes to the end.
    """

    title: str
    head: Mapping[str, str]
    blocks: Sequence[Table | Figure | Paragraph]
    runs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    records: Sequence[Mapping[str, Any]] = ()
    lead: str = ""
