"""Tables that a reader can sort and filter.  A number whose runs are known is a button that opens them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from normbench_cli.reporting.document import Cell, Table
from normbench_cli.reporting.html.text import escape

FILTERED_FROM = 4  # rows; a shorter table needs no filter


def table_html(table: Table, name: str) -> str:
    """The table with its title, a field that filters its rows, and its notes."""
    rows = "\n".join(row_html(row) for row in table.rows)
    heads = "".join(head_html(column) for column in table.columns)
    return (
        f'<section class="table" id="{name}">\n{filter_html(table)}'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.title)}">\n'
        f"<table><caption>{escape(table.title)}</caption>\n"
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>\n"
        f"{notes_html(table.notes)}</section>"
    )


def filter_html(table: Table) -> str:
    if len(table.rows) < FILTERED_FROM:
        return ""
    return (
        '<div class="tools"><label>Filter rows <input type="search" autocomplete="off" spellcheck="false"></label>'
        f' <output aria-live="polite">{len(table.rows)} rows</output></div>\n'
    )


def head_html(column: str) -> str:
    return f'<th scope="col" aria-sort="none"><button type="button" class="sort">{escape(column)}</button></th>'


def row_html(row: Sequence[Cell]) -> str:
    """The first cell names the row."""
    cells = [cell_html(cell, "th" if number == 0 else "td") for number, cell in enumerate(row)]
    return f"<tr>{''.join(cells)}</tr>"


def cell_html(cell: Cell, tag: str) -> str:
    text = escape(cell.text)
    text = f"<u>{text}</u>" if cell.underline else text
    text = f"<strong>{text}</strong>" if cell.bold else text
    text = f'<a href="{escape(cell.link)}">{text}</a>' if cell.link else text
    if cell.runs:
        text = f'<button type="button" class="number" data-runs="{escape(" ".join(cell.runs))}">{text}</button>'
    classes = " ".join(filter(None, ["numeric" if cell.value is not None else "", cell.tone]))
    value = f' data-value="{cell.value!r}"' if cell.value is not None and math.isfinite(cell.value) else ""
    scope = ' scope="row"' if tag == "th" else ""
    kind = f' class="{classes}"' if classes else ""
    return f"<{tag}{scope}{value}{kind}>{text}</{tag}>"


def notes_html(notes: Sequence[str]) -> str:
    return "".join(f'<p class="note">{escape(note)}</p>\n' for note in notes)
