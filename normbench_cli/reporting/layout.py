"""A report as tables for people: rows and their order, columns, and the text of each cell."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from normbench_cli.errors import UsageError
from normbench_cli.registry.spec import suggest
from normbench_cli.reporting import tables
from normbench_cli.reporting.document import Cell, Table
from normbench_cli.reporting.report import Report
from normbench_cli.reporting.spec_names import metric_names, setting_names
from normbench_cli.reporting.tables import UNFINISHED, heading

MOST_COLUMNS = 8  # value columns; a table with more, if also more than rows, is transposed
MOST_NAMED = 5  # left-out rows that a note names
BESIDE = "not in the mean"

Label = tuple[str, ...]
Groups = dict[Label, dict[Label, int]]  # a row's label -> a column's label -> the group


@dataclass(frozen=True)
class Layout:
    """The rows and columns of a report, and the tables built from them."""

    report: Report

    @property
    def sort(self) -> str:
        return self.report.query.sort

    @property
    def limit(self) -> int:
        return self.report.query.limit

    @cached_property
    def settings(self) -> dict[str, dict[Any, str]]:
        """Each setting's values as shown."""
        groups = self.report.groups
        return {field: setting_names(field, groups[field].unique()) for field in self.report.fields}

    @cached_property
    def metrics(self) -> dict[str, str]:
        """Each metric's column heading."""
        shown = metric_names(self.report.metrics)
        return {metric: heading(metric, shown[metric]) for metric in self.report.metrics}

    @cached_property
    def cells(self) -> dict[tuple[int, str], dict[str, Any]]:
        records = self.report.summary.to_dict("records")
        return {(row["group"], row["metric"]): {str(name): value for name, value in row.items()} for row in records}

    @cached_property
    def all_rows(self) -> Groups:
        found: Groups = {}
        for group, facts in self.report.groups.to_dict("index").items():
            row, column = (
                tuple(self.settings[field][facts[field]] for field in fields)
                for fields in (self.report.shown, self.report.across)
            )
            found.setdefault(row, {})[column] = int(str(group))
        order = self._order()
        return dict(sorted(found.items(), key=order, reverse=self.sort.startswith("-"))) if order else found

    def _order(self) -> Callable[[tuple[Label, dict[Label, int]]], Any] | None:
        """The sort key of the rows; None to keep their order."""
        name = self.sort.removeprefix("-")
        if not name:
            return None
        if name in self.report.shown:
            values = self.report.groups[name]
            return lambda row: tables.sort_key((values[next(iter(row[1].values()))],))
        if name not in self.report.metrics:
            raise UsageError(f"--sort {name}: no column has it", suggest(name, [*self.report.shown, *self.metrics]))
        last = -math.inf if self.sort.startswith("-") else math.inf  # rows without the metric come last
        return lambda row: self._mean_over_columns(row[1].values(), name, last)

    def _mean_over_columns(self, groups: Any, metric: str, last: float) -> float:
        means = [self.cells[group, metric]["mean"] for group in groups if (group, metric) in self.cells]
        mean = sum(means) / len(means) if means else math.nan
        return last if math.isnan(mean) else mean

    @cached_property
    def rows(self) -> Groups:
        kept = list(self.all_rows.items())
        return dict(kept[: self.limit] if self.limit else kept)

    @cached_property
    def groups(self) -> list[int]:
        """The groups of the rows shown, in their order."""
        return [group for columns in self.rows.values() for group in columns.values()]

    @property
    def left_out(self) -> list[Label]:
        return list(self.all_rows)[len(self.rows) :]

    def notes(self) -> Iterator[str]:
        if self.left_out:
            some = ", ".join(" ".join(label) or "all" for label in self.left_out[:MOST_NAMED])
            more = ", ..." * (len(self.left_out) > MOST_NAMED)
            total = len(self.all_rows)
            yield f"{len(self.rows)} of {total} rows are shown; --limit {self.limit} leaves out {some}{more}."

    def tables(self) -> list[Table]:
        measured = self._with_unfinished if self.report.across else self._measured
        kinds: list[tuple[str, Callable[[int, str], Cell]]] = [("", measured)]
        if self.report.comparisons.baseline is not None:
            setting, value = self.report.comparisons.baseline
            kinds.append((f"difference to {setting} {self.settings[setting][value]}", self._difference))
        if self.report.across:
            return [self._pivot(metric, title, fill) for title, fill in kinds for metric in self.report.metrics]
        return [self._plain(title, fill) for title, fill in kinds]

    def _plain(self, title: str, fill: Callable[[int, str], Cell]) -> Table:
        """One column per metric."""
        metrics, beside = self.report.metrics, self._is_unfinished() and not title
        rows = []
        for label, columns in self.rows.items():
            (group,) = columns.values()
            row = [*map(Cell, label), *(fill(group, metric) for metric in metrics)]
            rows.append([*row, Cell(self._unfinished(group) or "-")] if beside else row)
        names = [*self.report.shown, *(self.metrics[metric] for metric in metrics), *([BESIDE] if beside else [])]
        return Table(title, names, rows, keys=max(1, len(self.report.shown)))

    def _pivot(self, metric: str, title: str, fill: Callable[[int, str], Cell]) -> Table:
        """One column per value of the `across` settings; unfinished runs are counted in the cells."""
        labels = list(dict.fromkeys(label for columns in self.all_rows.values() for label in columns))
        across = " ".join(self.report.across)
        title = f"{self.metrics[metric]} by {across}" + (f": {title}" if title else "")
        rows = []
        for row, columns in self.rows.items():
            cells = [fill(columns[label], metric) if label in columns else Cell("") for label in labels]
            rows.append([*map(Cell, row), *cells])
        table = Table(title, [*self.report.shown, *map(" ".join, labels)], rows, keys=len(self.report.shown))
        return turned(table, across) if len(labels) > max(MOST_COLUMNS, len(rows)) else table

    def _measured(self, group: int, metric: str) -> Cell:
        found = self.cells.get((group, metric))
        if found is None:
            return Cell("-")
        key, marks = (group, metric), self.report.comparisons
        text = tables.cell(metric, found["mean"], found["sd"], found["n"])
        value = found["mean"] * tables.shown_factor(metric)
        return Cell(text, value, key in marks.best, key in marks.ties, self.report.runs_of(group))

    def _difference(self, group: int, metric: str) -> Cell:
        """+2.00 [0.52, 3.48] p=0.031 (n=6)"""
        setting, value = self.report.comparisons.baseline or ("", None)
        if self.report.groups.loc[group, setting] == value:
            return Cell("0 (baseline)", 0.0)
        found = self.report.comparisons.differences.get((group, metric))
        if not found or not found["n"]:
            return Cell("-")
        factor, decimals = tables.scale(metric, found["difference"], found["sd"])
        shown = [tables.format_number(found[name] * factor, decimals) for name in ("difference", "low", "high")]
        text = ("+" if found["difference"] > 0 and shown[0].strip("0.") else "") + shown[0]
        if found["n"] > 1:
            text += f" [{shown[1]}, {shown[2]}] {p_text(found['p_holm'])}"
        return Cell(f"{text} (n={found['n']})", found["difference"] * factor, runs=self.report.runs_of(group))

    def _is_unfinished(self) -> bool:
        return bool(self.report.groups[list(UNFINISHED)].to_numpy().any())

    def _unfinished(self, group: int) -> str:
        counts = self.report.groups.loc[group]
        return ", ".join(f"{counts[status]} {status}" for status in UNFINISHED if counts[status])

    def _with_unfinished(self, group: int, metric: str) -> Cell:
        cell, beside = self._measured(group, metric), self._unfinished(group)
        return replace(cell, text=f"{cell.text}, {beside}") if beside else cell


def turned(table: Table, corner: str) -> Table:
    """The transposed table."""
    labels = [" ".join(cell.text for cell in row[: table.keys]) for row in table.rows]
    rows = [
        [Cell(name), *(row[index] for row in table.rows)]
        for index, name in enumerate(table.columns)
        if index >= table.keys
    ]
    return Table(table.title, [corner, *labels], rows, table.notes)


def p_text(p: float) -> str:
    if p != p:
        return "p=-"
    return "p<0.001" if p < 0.001 else "p=" + f"{p:.3f}".rstrip("0").rstrip(".")
