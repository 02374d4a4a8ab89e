"""What differs between two runs: settings, facts about code and machine, last metrics.  No statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from normbench_cli.errors import UsageError
from normbench_cli.reporting import tables
from normbench_cli.reporting.compare.render import difference_table
from normbench_cli.reporting.compare.settings import Difference, differing_facts, differing_settings
from normbench_cli.reporting.compare.sides import Side
from normbench_cli.reporting.document import Cell, Document, Paragraph, Table
from normbench_cli.store import Store
from normbench_cli.store.queries import runs_frame


@dataclass(frozen=True)
class MetricPair:
    """The last value of a metric in both runs; None for a run without it."""

    name: str
    a: float | None
    b: float | None

    @property
    def difference(self) -> float | None:
        return None if self.a is None or self.b is None else self.b - self.a


@dataclass(frozen=True)
class RunsDiff:
    """a, b: ids; statuses: of both runs."""

    a: str
    b: str
    statuses: tuple[str, str]
    settings: list[Difference]
    facts: list[Difference]
    metrics: list[MetricPair]

    def to_document(self) -> Document:
        ids = (self.a, self.b)
        blocks: list[Table | Paragraph] = [
            difference_table("Settings that differ", "setting", self.settings, ids)
            if self.settings
            else Paragraph("No setting differs."),
            difference_table("Code and machine that differ", "fact", self.facts, ids)
            if self.facts
            else Paragraph("Code and machine do not differ."),
            Table("Last metrics", ["metric", *ids, "difference"], [metric_row(one) for one in self.metrics])
            if self.metrics
            else Paragraph("Neither run has recorded a metric."),
        ]
        return Document("normbench runs diff", {}, blocks)

    def to_json(self) -> dict[str, Any]:
        return {
            "a": self.a,
            "b": self.b,
            "settings": [difference_json(one) for one in self.settings],
            "environment": [difference_json(one) for one in self.facts],
            "metrics": [vars(one) | {"difference": one.difference} for one in self.metrics],
        }


def diff_runs(store: Store, texts: tuple[str, str]) -> RunsDiff:
    """texts: two ids or unique prefixes of ids."""
    runs = [store.find(text) for text in texts]
    a, b = (run.id for run in runs)
    if a == b:
        raise UsageError(f"both A and B are run {a}", "name two runs")
    frame = runs_frame(store)
    sides = [Side(name, run.id, frame[frame["id"] == run.id]) for name, run in zip("AB", runs, strict=True)]
    mine, theirs = (store.latest_metrics(run.id) for run in runs)
    return RunsDiff(
        a,
        b,
        (runs[0].status, runs[1].status),
        differing_settings(*sides),
        differing_facts(store, *sides),
        [MetricPair(name, mine.get(name), theirs.get(name)) for name in mine | theirs],
    )


def difference_json(one: Difference) -> dict[str, Any]:
    return {"name": one.name, "a": text_of(one.a), "b": text_of(one.b)}


def text_of(values: tuple[str, ...]) -> str | None:
    """The value of the only run of a side; None if the run does not have it."""
    return values[0] if values else None


def metric_row(one: MetricPair) -> list[Cell]:
    """In the displayed unit, with six digits."""
    factor = tables.shown_factor(one.name)
    numbers = ((one.a, ""), (one.b, ""), (one.difference, "+"))
    texts = ["-" if value is None else f"{value * factor:{sign}.6g}" for value, sign in numbers]
    return [Cell(text) for text in (tables.heading(one.name), *texts)]
