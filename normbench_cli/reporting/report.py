"""A report: the runs that were asked for, grouped, with what the groups measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from normbench_cli.errors import DatabaseError
from normbench_cli.registry.spec import format_value, suggest
from normbench_cli.reporting import tables
from normbench_cli.reporting.curves import curve_points
from normbench_cli.reporting.query import NothingMeasured, ReportQuery, SchedulePoint, parse_at
from normbench_cli.reporting.selection import Selection, select_runs
from normbench_cli.store import Store
from normbench_cli.store.errors import SEE_CHECK, NoDatabase
from normbench_cli.store.queries import metrics_frame

DEFAULT_METRICS = (
    "test/accuracy",
    "train/loss",
    "validation/accuracy@curve_best",
    "validation/accuracy@best_per_fold",
    "validation/accuracy_sd0@best_per_fold",
    "validation/accuracy@last",
    "step_time_ms",
    "solver/iterations_mean",
    "solver/unconverged",
    "peak_memory_bytes",
)


@dataclass(frozen=True)
class Report:
    """A row a group in ``groups``, a row a group and metric in ``summary``.

    fields: the settings of every group; shown: those that tell the groups apart; curves: points by metric name;
    damage: what was left out because it is damaged, which the notes say too.
    """

    fields: list[str]
    shown: list[str]
    metrics: list[str]
    groups: pd.DataFrame
    summary: pd.DataFrame
    notes: list[str] = field(default_factory=list)
    curves: dict[str, pd.DataFrame] = field(default_factory=dict)
    damage: list[str] = field(default_factory=list)

    @cached_property
    def table(self) -> pd.DataFrame:
        """The table as people read it: a row a group, all cells text."""
        return tables.display(self.groups, self.summary, self.shown, self.metrics)


def make_report(query: ReportQuery, db: str | None = None) -> Report:
    """The report of a database (default: NORMBENCH_DB or the one in the home folder)."""
    try:
        with Store.open(db, write=False) as store:
            try:
                return report_of(store, query)
            except NothingMeasured as error:
                if damage := store.damage():  # perhaps that is why
                    raise DatabaseError(f"{error}; {damage[0]}", SEE_CHECK) from error
                raise
    except NoDatabase as error:
        raise NothingMeasured(str(error)) from error


def report_of(store: Store, query: ReportQuery) -> Report:
    """The report of an open store."""
    point = parse_at(query.at)
    selection = select_runs(store, query)
    summary = tables.summarize_groups(selection.runs, read_values(store, selection, query.metrics, point))
    recorded = set(summary["metric"])
    if not recorded and not (selection.runs["status"] == "diverged").any():
        counts = ", ".join(f"{count} {status}" for status, count in selection.runs["status"].value_counts().items())
        raise NothingMeasured(f"these runs have no measurements yet ({counts})", "see `normbench runs list`")
    metrics = list(dict.fromkeys(query.metrics)) or [name for name in DEFAULT_METRICS if name in recorded]
    metrics = metrics or sorted(recorded)
    curves = {name: curve_points(store, selection, name) for name in query.curves}
    return Report(
        fields=selection.fields,
        shown=selection.shown,
        metrics=metrics,
        groups=selection.groups,
        summary=summary[summary["metric"].isin(metrics)],
        notes=[*make_notes(selection, summary, point), *store.damage()],
        curves=curves,
        damage=store.damage(),
    )


def read_values(store: Store, selection: Selection, metrics: Sequence[str], point: SchedulePoint) -> pd.DataFrame:
    """The finished runs' values at a point of their schedule; an error if none has a metric that was asked for."""
    finished = selection.finished["id"].tolist()
    curve = not point.is_end
    values = metrics_frame(store, finished, metrics or DEFAULT_METRICS, curve=curve)
    if values.empty and not metrics:
        values = metrics_frame(store, finished, curve=curve)
    if point.fraction is not None:
        values = tables.at_fraction(values, selection.runs, point.fraction)
    elif point.epoch is not None:
        values = values[values["epoch"] == point.epoch]
    for name in metrics:
        if finished and name not in set(values["metric"]):
            others = sorted(set(metrics_frame(store, finished, curve=curve)["metric"]))
            raise NothingMeasured(f"no finished run has the metric '{name}'", suggest(name, others))
    return values


def make_notes(selection: Selection, summary: pd.DataFrame, point: SchedulePoint) -> list[str]:
    """What a reader must know to read the table."""
    notes = []
    if (summary["n"] > 1).any():
        over = " and ".join(["seed", *selection.pooled])
        notes.append(f"± is the sample standard deviation (sd, ddof=1) over n runs that differ in {over}.")
    if point.fraction is not None:
        notes.append(f"Values after {point.fraction:.0%} of each run's schedule.")
    if point.epoch is not None:
        notes.append(f"Values at the end of epoch {point.epoch}.")
    if selection.common:
        first = selection.runs.iloc[0]
        pairs = ", ".join(f"{name} {format_value(first[name])}" for name in selection.common)
        notes.append(f"In common: {pairs}.")
    return notes
