"""A report: the runs that were asked for, grouped, with what their groups measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from normbench_cli.config import FIELDS, GRID_FIELDS
from normbench_cli.errors import EXIT_NOTHING_MEASURED, NormbenchError, UsageError
from normbench_cli.registry.spec import format_value, suggest
from normbench_cli.reporting import tables
from normbench_cli.store import Store
from normbench_cli.store.queries import metrics_frame, parse_where, runs_frame

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


class NothingMeasured(NormbenchError):
    """There is nothing to report."""

    exit_code = EXIT_NOTHING_MEASURED


@dataclass(frozen=True)
class ReportQuery:
    """What a report is asked for."""

    metrics: Sequence[str] = ()
    by: Sequence[str] = ()
    where: Sequence[str] = ()
    tag: str | None = None
    kind: str = "train"
    at: str = ""


@dataclass(frozen=True)
class Report:
    """``fields`` are those of every row; ``shown`` those that a table needs, as they tell the rows apart."""

    fields: list[str]
    shown: list[str]
    metrics: list[str]
    groups: pd.DataFrame
    summary: pd.DataFrame
    notes: list[str] = field(default_factory=list)

    def table(self) -> pd.DataFrame:
        return tables.display(self.groups, self.summary, self.shown, self.metrics)


def chosen_runs(store: Store, question: ReportQuery) -> tuple[pd.DataFrame, pd.DataFrame, list[str], list[str]]:
    """The runs with their group, the groups, the fields of a group, and those that tell groups apart."""
    for name in question.by:
        if name not in FIELDS:
            raise UsageError(f"--by {name}: there is no such setting", suggest(name, list(FIELDS)))
    runs = runs_frame(store, kind=question.kind, tag=question.tag, where=parse_where(question.where))
    if runs.empty:
        narrowed = question.where or question.tag
        do = "loosen --where or --tag, see `normbench runs list`" if narrowed else "`normbench train` makes some"
        raise NothingMeasured(f"no run of kind '{question.kind}' is recorded" + (" like that" if narrowed else ""), do)
    runs = tables.one_per_fingerprint(runs)
    differ = tables.varying(runs)
    fields = list(question.by) or [*GRID_FIELDS, *(name for name in differ if name not in GRID_FIELDS)]
    shown = list(question.by) or differ or ["norm", "act", "model", "data"]
    runs, groups = tables.grouped(runs, fields)
    return runs, groups, fields, shown


def collect(store: Store, question: ReportQuery) -> Report:
    share, epoch = parse_at(question.at)
    runs, groups, fields, shown = chosen_runs(store, question)
    differ = tables.varying(runs)
    values = measured(store, runs, question.metrics, share, epoch)
    summary = tables.summaries(runs, values)
    recorded = set(summary["metric"])
    metrics = list(dict.fromkeys(question.metrics)) or [name for name in DEFAULT_METRICS if name in recorded]
    metrics = metrics or sorted(recorded)
    if not recorded and not (runs["status"] == "diverged").any():
        states = ", ".join(f"{count} {state}" for state, count in runs["status"].value_counts().items())
        raise NothingMeasured(f"nothing is measured yet in these runs ({states})", "see `normbench runs list`")
    pooled = [name for name in differ if name not in fields]
    notes = captions(runs, summary, share, epoch, pooled, [name for name in fields if name not in shown])
    return Report(fields, shown, metrics, groups, summary[summary["metric"].isin(metrics)], notes)


def measured(
    store: Store, runs: pd.DataFrame, metrics: Sequence[str], share: float | None, epoch: int | None
) -> pd.DataFrame:
    """The values of the finished runs; a metric that was asked for and that none of them has stops here."""
    finished = runs.loc[runs["status"] == "finished", "id"].tolist()
    at_some_time = share is not None or epoch is not None
    values = metrics_frame(store, finished, metrics or DEFAULT_METRICS, curve=at_some_time)
    if values.empty and not metrics:
        values = metrics_frame(store, finished, curve=at_some_time)
    if share is not None:
        values = tables.after_share(values, runs, share)
    elif epoch is not None:
        values = values[values["epoch"] == epoch]
    for name in metrics:
        if finished and name not in set(values["metric"]):
            others = sorted(set(metrics_frame(store, finished, curve=at_some_time)["metric"]))
            raise NothingMeasured(f"no finished run has the metric '{name}'", suggest(name, others))
    return values


def parse_at(text: str) -> tuple[float | None, int | None]:
    """``50%`` -> a share of the schedule; ``epoch 10`` or ``10`` -> an epoch; nothing -> the end."""
    if not text:
        return None, None
    words = text.replace("=", " ").split()
    try:
        if text.strip().endswith("%") and 0 < float(text.strip()[:-1]) <= 100:
            return float(text.strip()[:-1]) / 100, None
        if len(words) <= 2 and words[-1].isdigit() and words[:-1] in ([], ["epoch"]):
            return None, int(words[-1])
    except (ValueError, IndexError):
        pass
    raise UsageError(f"--at {text} is not a time in a run", "write --at 50% or --at 'epoch 10'")


def captions(
    runs: pd.DataFrame,
    summary: pd.DataFrame,
    share: float | None,
    epoch: int | None,
    pooled: list[str],
    common: list[str],
) -> list[str]:
    """What a reader must know to read the table."""
    notes = []
    if (summary["n"] > 1).any():
        over = " and ".join(["seed", *pooled])
        notes.append(f"± is the sample standard deviation (sd, ddof=1) over n runs that differ in {over}.")
    if share is not None:
        notes.append(f"As it was after {share:.0%} of each run's schedule.")
    if epoch is not None:
        notes.append(f"As it was at the end of epoch {epoch}.")
    if common:
        notes.append("In common: " + ", ".join(f"{name} {format_value(runs[name].iloc[0])}" for name in common) + ".")
    return notes
