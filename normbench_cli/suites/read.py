"""Reading a suite from TOML.  Errors name the file, the key and the nearest valid one.

    title, paper, place                     what it is, and where
    metric, sd, curve, unit, reported, n    of every cell, unless overridden by its row, its column or the cell itself;
                                            {at} in a metric stands for the cell's `at`
    at, panel                               the cell's place in the figures of a question
    over                                    what the spread is taken over: seeds or folds
    seeds, note, notes
    [settings]                              of every run
    [question]                              what the rows are compared for; see question.py
    [figure]                                numbers along a setting that rows vary; see figure.py
    [rows], [columns]                       label -> settings, and any key of the second line
    [published.ROW]                         column -> a number, or a table with value, sd, marks, settings, ...
    [marks.NAME]                            kind and note of the cells with this mark
    [scales.short], [scales.smoke]          settings that differ at this scale

A row listed under `published` has only the columns listed there; any other row has all columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from normbench_cli import toml_file
from normbench_cli.config import FIELDS, make_config
from normbench_cli.errors import UsageError
from normbench_cli.registry.spec import format_value, suggest
from normbench_cli.registry.trust import recorded_in
from normbench_cli.seeds import parse_seeds
from normbench_cli.suites.checks import Table, check_keys, check_table, check_types
from normbench_cli.suites.figure import read_figure
from normbench_cli.suites.question import check_places, read_question
from normbench_cli.suites.suite import KINDS, OF_DATA, Cell, Published, Suite

OF_A_CELL = ("metric", "sd", "curve", "unit", "reported", "n", "note", "at", "panel")
TOP = (*OF_A_CELL, "title", "paper", "place", "over", "seeds", "notes")
TABLES = ("settings", "question", "figure", "rows", "columns", "published", "marks", "scales")
PUBLISHED = ("value", "sd", "marks")
SETTINGS = tuple(name for name in FIELDS if name not in ("seed", "tag", "note"))


def read_suite(path: Path, name: str) -> Suite:
    """Read the suite in a file; every cell is checked to be a valid configuration."""
    content = read_toml(path)
    where = str(path)
    check_content(content, where)
    rows, columns = (lines(content.get(part, {}), f"{where}: {part}") for part in ("rows", "columns"))
    if not rows or not columns:
        raise UsageError(f"{where} has no {'columns' if rows else 'rows'}", "every suite has [rows] and [columns]")
    cells = list(make_cells(content, rows, columns, where))
    for cell in cells:
        check_cell(cell, where)
    question = read_question(content["question"], columns, f"{where}: question") if "question" in content else None
    if question:
        check_places(question, ((cell.column, cell.at) for cell in cells), f"{where}: question")
    return Suite(
        name=name,
        title=content.get("title", name),
        paper=content.get("paper", ""),
        place=content.get("place", ""),
        cells=cells,
        seeds=tuple(parse_seeds([str(content.get("seeds", "0"))])),
        over=content.get("over", "seeds"),
        unit=content.get("unit", ""),
        notes=tuple(content.get("notes", ())),
        scales=content.get("scales", {}),
        question=question,
        figure=read_figure(content["figure"], columns, f"{where}: figure") if "figure" in content else None,
    )


def check_content(content: Table, where: str) -> None:
    """Check everything but the cells."""
    check_keys(content, (*TOP, *TABLES), where)
    check_types({key: value for key, value in content.items() if key not in TABLES}, where)
    for table in TABLES:
        check_table(content.get(table, {}), table, where)
    if content.get("over", "seeds") not in ("seeds", "folds"):
        raise UsageError(f"{where}: over = {content['over']!r}", "write over = 'seeds' or over = 'folds'")
    check_keys(content.get("scales", {}), ("short", "smoke"), f"{where}: scales")
    parts = {f"scales.{scale}": settings for scale, settings in content.get("scales", {}).items()}
    for name, settings in ({"settings": content.get("settings", {})} | parts).items():
        check_table(settings, name, where)
        check_keys(settings, (*SETTINGS, "seeds") if name in parts else SETTINGS, f"{where}: {name}")
        check_types(settings, f"{where}: {name}")


def read_toml(path: Path) -> dict[str, Any]:
    return toml_file.read_toml(path, "a suite").content


def lines(content: Table, where: str) -> dict[str, dict[str, Any]]:
    """Rows or columns: the keys that each sets for its cells."""
    for label, values in content.items():
        if not isinstance(values, Mapping):
            raise UsageError(f"{where}.{label} is {values!r}", f'write "{label}" = {{ norm = "..." }}')
        check_keys(values, (*SETTINGS, *OF_A_CELL), f"{where}.{label}")
        check_types(values, f"{where}.{label}")
    return {label: dict(values) for label, values in content.items()}


def make_cells(content: Table, rows: Table, columns: Table, where: str) -> Iterable[Cell]:
    published = content.get("published", {})
    check_keys(published, rows, f"{where}: published")
    marks = content.get("marks", {})
    for name, mark in marks.items():
        check_table(mark, f"marks.{name}", where)
        check_keys(mark, ("kind", "note"), f"{where}: marks.{name}")
        if mark.get("kind", "") not in KINDS:
            do = suggest(mark["kind"], [kind for kind in KINDS if kind])
            raise UsageError(f"{where}: marks.{name} has the kind '{mark['kind']}'", do)
    shared = {key: content[key] for key in OF_A_CELL if key in content} | content.get("settings", {})
    for row, of_row in rows.items():
        printed = published.get(row)
        check_table(printed or {}, f'published."{row}"', where)
        check_keys(printed or {}, columns, f"{where}: published.{row}")
        for column, of_column in columns.items():
            if printed is None or column in printed:
                own = cell_table(printed[column], f"{where}: published.{row}.{column}") if printed else None
                yield make_cell(row, column, shared | of_row | of_column, own, marks, where)


def cell_table(value: Any, where: str) -> dict[str, Any]:
    """A published cell, written as a number or as a table."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {"value": value}
    if not isinstance(value, Mapping):
        raise UsageError(f"{where} is {value!r}", "write a number, or { value = 1.0, sd = 0.1 }")
    check_keys(value, (*PUBLISHED, *OF_A_CELL, *SETTINGS), where)
    check_types({key: each for key, each in value.items() if key != "sd"}, where)
    if not isinstance(value.get("sd", 0.0), int | float):
        raise UsageError(f"{where}: sd is {value['sd']!r}", "write a number")
    return dict(value)


def make_cell(
    row: str, column: str, values: Mapping[str, Any], own: dict[str, Any] | None, marks: Table, where: str
) -> Cell:
    printed = {key: own.pop(key) for key in PUBLISHED if key in own} if own is not None else None
    values = {**values, **(own or {})}
    metric = values.get("metric", "").replace("{at}", format_value(values.get("at")))
    if not metric:
        raise UsageError(f"{where}: the cell of {row} and {column} has no metric", 'write metric = "test/accuracy"')
    of_data = metric.startswith(OF_DATA)
    return Cell(
        row=row,
        column=column,
        settings={name: value for name, value in values.items() if name in SETTINGS},
        metric=metric,
        sd="" if of_data else values.get("sd", ""),
        curve="" if of_data else values.get("curve", ""),
        unit=values.get("unit", ""),
        at=values.get("at"),
        panel=values.get("panel", ""),
        published=None if printed is None else make_published(printed, values, marks, f"{where}: {row}, {column}"),
    )


def make_published(printed: Table, values: Table, marks: Table, where: str) -> Published:
    names = printed.get("marks", [])
    check_keys(dict.fromkeys(names), marks, f"{where}: marks")
    kinds = [marks[name].get("kind", "") for name in names]
    notes = [values.get("note", ""), *(marks[name].get("note", "") for name in names)]
    of_data = values["metric"].startswith(OF_DATA)
    return Published(
        value=printed.get("value"),
        sd=printed.get("sd"),
        metric=values.get("reported", ""),
        unit=values.get("unit", ""),
        n=None if of_data else values.get("n"),
        kind=max(["", *kinds], key=KINDS.index),
        note="; ".join(filter(None, notes)),
    )


def check_cell(cell: Cell, where: str) -> None:
    """Check that a cell's settings are a valid configuration; the error names the cell."""
    try:
        make_config(cell.settings, recorded_in(where))
    except UsageError as error:
        raise UsageError(f"{where}: the cell of {cell.row} and {cell.column}: {error}") from error
