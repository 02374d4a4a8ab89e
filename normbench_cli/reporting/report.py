"""A report: the selected runs in groups, with what the groups measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pandas as pd

from normbench_cli.errors import DatabaseError
from normbench_cli.registry.spec import format_value, suggest
from normbench_cli.reporting import tables
from normbench_cli.reporting.comparing import Comparisons, baseline_groups, compare
from normbench_cli.reporting.curves import curve_points
from normbench_cli.reporting.data_note import data_note
from normbench_cli.reporting.document import BOLD, UNDERLINED, Figure
from normbench_cli.reporting.figures import make_figures, parse_plot
from normbench_cli.reporting.head import make_head
from normbench_cli.reporting.profiles.across import ProfileTable, profile_table, shows_profiles
from normbench_cli.reporting.query import NothingMeasured, ReportQuery, SchedulePoint, parse_at
from normbench_cli.reporting.remarks import remark_notes
from normbench_cli.reporting.run_details import run_details
from normbench_cli.reporting.selection import Selection, select_runs
from normbench_cli.reporting.time_to_target import TimesToTarget, parse_target, times_to
from normbench_cli.store import Store
from normbench_cli.store.errors import SEE_CHECK, NoDatabase
from normbench_cli.store.metric_names import cautions
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
    """One row per group in ``groups``, one per group and metric in ``summary``.

    fields: the settings of every group; shown: those that name the rows; across: those whose values are columns;
    comparisons: best groups, ties and differences; curves: points by metric name; figures: the plots;
    head: what reproduces the report; details: everything recorded about each run, if requested;
    damage: what was left out as damaged, also in the notes; targets: times to a target, if requested;
    profiles: what a report of profiles shows instead of the groups.
    """

    fields: list[str]
    shown: list[str]
    across: list[str]
    metrics: list[str]
    groups: pd.DataFrame
    summary: pd.DataFrame
    runs: pd.DataFrame
    comparisons: Comparisons
    query: ReportQuery
    notes: list[str] = field(default_factory=list)
    curves: dict[str, pd.DataFrame] = field(default_factory=dict)
    head: dict[str, str] = field(default_factory=dict)
    details: dict[str, dict[str, Any]] = field(default_factory=dict)
    figures: list[Figure] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    targets: TimesToTarget | None = None
    profiles: ProfileTable | None = None

    @cached_property
    def _runs_of(self) -> dict[int, tuple[str, ...]]:
        finished = self.runs[self.runs["status"] == "finished"]
        found: dict[int, list[str]] = {}
        for group, run_id in zip(finished["group"], finished["id"], strict=True):
            found.setdefault(group, []).append(run_id)
        return {group: tuple(ids) for group, ids in found.items()}

    def runs_of(self, group: int) -> tuple[str, ...]:
        """The finished runs of a group."""
        return self._runs_of.get(group, ())


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
    if shows_profiles(query):
        plain = report_of_runs(store, replace(query, by=(), across=(), baseline="", test=False))
        profiles = profile_table(store, query)
        return replace(plain, query=query, profiles=profiles, notes=store.damage(), damage=store.damage())
    return report_of_runs(store, query)


def report_of_runs(store: Store, query: ReportQuery) -> Report:
    point = parse_at(query.at)
    plots = [parse_plot(plot, query.metrics) for plot in query.plots]
    selection = select_runs(store, query)
    values = read_values(store, selection, query.metrics, point)
    summary = tables.summarize_groups(selection.runs, values)
    recorded = set(summary["metric"])
    if not recorded and not (selection.runs["status"] == "diverged").any():
        counts = ", ".join(f"{count} {status}" for status, count in selection.runs["status"].value_counts().items())
        raise NothingMeasured(f"these runs have no measurements yet ({counts})", "see `normbench runs list`")
    metrics = list(dict.fromkeys(query.metrics)) or [name for name in DEFAULT_METRICS if name in recorded]
    metrics = metrics or sorted(recorded)
    shown = summary[summary["metric"].isin(metrics)]
    compared = values[values["metric"].isin(metrics)]
    comparisons = compare(selection, compared, shown, query.across, query.baseline, test=query.tests)
    curves = {name: curve_points(store, selection, name) for name in query.curves}
    figures = make_figures(store, selection, plots)
    targets = read_targets(store, selection, query, comparisons.baseline)
    run_ids = selection.runs["id"].tolist()
    details = run_details(store, run_ids) if query.details else {}
    notes = [
        *make_notes(selection, summary, point),
        *comparison_notes(comparisons, query),
        *cautions(metrics),
        *common_note(selection),
        *data_note(selection.details),
        *remark_notes(selection.details, len(run_ids)),
    ]
    return Report(
        fields=selection.fields,
        shown=selection.shown,
        across=selection.across,
        metrics=metrics,
        groups=selection.groups,
        summary=shown,
        runs=selection.runs,
        comparisons=comparisons,
        query=query,
        notes=[*notes, *store.damage()],
        curves=curves,
        head=make_head(store, selection.runs),
        details=details,
        figures=figures,
        damage=store.damage(),
        targets=targets,
    )


def read_targets(
    store: Store, selection: Selection, query: ReportQuery, baseline: tuple[str, Any] | None
) -> TimesToTarget | None:
    """Return the times to the query's target, if it has one."""
    if not query.target:
        return None
    target = parse_target(query.target)
    references = dict(baseline_groups(selection, *baseline)) if baseline else None
    return times_to(store, selection, target, references)


def read_values(store: Store, selection: Selection, metrics: Sequence[str], point: SchedulePoint) -> pd.DataFrame:
    """The finished runs' values at a point of their schedule; raise if none has a requested metric."""
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
    """What a reader must know to understand the table."""
    notes = []
    if (summary["n"] > 1).any():
        over = " and ".join(["seed", *selection.pooled])
        notes.append(f"± is the sample standard deviation (sd, ddof=1) over n runs that differ in {over}.")
    if point.fraction is not None:
        notes.append(f"Values after {point.fraction:.0%} of each run's schedule.")
    if point.epoch is not None:
        notes.append(f"Values at the end of epoch {point.epoch}.")
    return notes


def comparison_notes(comparisons: Comparisons, query: ReportQuery) -> list[str]:
    """What bold and underlined numbers mean, and what a difference is."""
    notes = []
    if comparisons.best:
        block = "column" if query.across else "column, among those on the same data"
        notes.append(f"{BOLD} the best of its {block}.")
    if comparisons.ties:
        notes.append(
            f"{UNDERLINED} not different from the best by the sign-flip permutation test of pairs with equal seed"
            " (p > 0.05 after Holm's correction)."
        )
    if comparisons.differences:
        notes.append(
            "Differences: mean over pairs with equal seed, 95 % interval by t, p of the sign-flip permutation test"
            " after Holm's correction over the differences of a metric."
        )
    return notes + [f"Limits: {'; '.join(comparisons.limits)}."] * bool(comparisons.limits)


def common_note(selection: Selection) -> list[str]:
    if not selection.common:
        return []
    first = selection.runs.iloc[0]
    pairs = ", ".join(f"{name} {format_value(first[name])}" for name in selection.common)
    return [f"In common: {pairs}."]
