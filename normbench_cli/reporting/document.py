"""What a report consists of, whatever file it becomes: tables, figures and paragraphs under one head.

Whoever makes a report fills in a `Document`; each format is one function that writes a `Document`.  Text in it is
plain: every writer escapes what its own format would read as markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd


Tone = Literal["", "bad", "good", "doubtful"]
BOLD, UNDERLINED = "Bold:", "Underlined:"  # begin the notes that say what marked cells mean


@dataclass(frozen=True)
class Cell:
    """A table cell: its text, and what an interactive page does with it.

    value: the number behind the text, by which a column is sorted.  bold: the best of its column or row.  underline: no
    worse than the best by the table's test.  runs: ids of the runs that the number was computed from.  tone: what color
    says besides the text.  link: a file beside this one that the text leads to.
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
    """Rows of cells under column names, one cell a column.

    notes: what a reader must know to read the table.  keys: how many of the first columns name a row.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    keys: int = 1


@dataclass(frozen=True)
class Figure:
    """A plot by its kind and the points it shows, one row a point; `reporting.plots` says which columns a kind has.

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

    command: to be copied, on a line of its own below the text.
    """

    text: str
    command: str = ""


@dataclass(frozen=True)
class Document:
    """A report.

    head: what makes it again: command, date, database, runs, versions, data; in the order shown.
    runs: for each run id its settings, environment, status, metrics and the command that repeats it, as JSON values.
    records: the numbers behind the tables, a mapping a row, as CSV, JSON and parquet write them; without records they
    write the tables.
    lead: what it comes to, in one sentence, which people read first; the head then stands at the end.
    """

    title: str
    head: Mapping[str, str]
    blocks: Sequence[Table | Figure | Paragraph]
    runs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    records: Sequence[Mapping[str, Any]] = ()
    lead: str = ""
