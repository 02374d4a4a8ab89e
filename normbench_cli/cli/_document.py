"""A document's tables and paragraphs on stdout."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from normbench_cli.cli._columns import Row
from normbench_cli.cli._output import echo, print_table
from normbench_cli.reporting.document import BOLD, UNDERLINED, Cell, Document, Figure, Paragraph, Table


def print_document(document: Document) -> None:
    """Print all but the figures."""
    shown = [block for block in document.blocks if not isinstance(block, Figure)]
    for before, block in zip([None, *shown], shown, strict=False):
        if isinstance(before, Table) or (before and isinstance(block, Table)):
            echo("")
        if isinstance(block, Paragraph):
            echo(block.text)
        else:
            print_marked(block)


def print_marked(table: Table) -> None:
    """Plain text has neither bold nor underlined cells, so it leaves out the notes on them."""
    is_drawn = sys.stdout.isatty()
    notes = [note for note in table.notes if is_drawn or not note.startswith((BOLD, UNDERLINED))]
    print_table(rows_of(table), table.title, "\n".join(notes), keys=table.keys, styles=styles_of(table))


def rows_of(table: Table) -> list[Row]:
    return [dict(zip(table.columns, (cell.text for cell in row), strict=True)) for row in table.rows]


def styles_of(table: Table) -> dict[tuple[int, str], str]:
    """The styles of the cells that have one, by row and column."""
    return {
        (number, name): style(cell)
        for number, row in enumerate(table.rows)
        for name, cell in zip(table.columns, row, strict=True)
        if style(cell)
    }


def style(cell: Cell) -> str:
    marks: Sequence[str] = ["bold"] * cell.bold + ["underline"] * cell.underline
    return " ".join(marks)
