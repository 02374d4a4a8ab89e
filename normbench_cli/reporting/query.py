"""The query that a report answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from normbench_cli.errors import EXIT_NOTHING_MEASURED, NormbenchError, UsageError
from normbench_cli.registry.spec import suggest

KINDS = ("train", "profile")  # of runs that can be reported; each is the command that makes them


class NothingMeasured(NormbenchError):
    """No recorded measurement answers the query."""

    exit_code = EXIT_NOTHING_MEASURED


@dataclass(frozen=True)
class ReportQuery:
    """The runs to report (``kind``, ``tag``, ``where``) and what to show.

    metrics: names of metrics, a few usual ones by default; by: settings to group by, by default those that vary;
    across: settings whose values become columns; baseline: the value, or ``setting=value``, to compare the others with;
    test: underline what is not significantly different from the best, by default with a baseline or across settings;
    sort: a metric or a setting, descending with a minus; limit: the most rows, 0 for all;
    details: read everything recorded about each run, for a page that links to the runs;
    where: filters (`store.filter`); at: a point of each run's schedule, ``50%`` or ``epoch 10``, by default its end;
    target: a score, ``test/accuracy=0.9``, for the time until it is reached;
    curves: metrics or raw series to plot over time; plots: kinds of plots, such as ``pareto`` or ``curve:by=seconds``.
    """

    metrics: Sequence[str] = ()
    by: Sequence[str] = ()
    where: Sequence[str] = ()
    tag: str | None = None
    kind: str = "train"
    at: str = ""
    curves: Sequence[str] = ()
    plots: Sequence[str] = ()
    across: Sequence[str] = ()
    baseline: str = ""
    test: bool | None = None
    sort: str = ""
    limit: int = 0
    details: bool = False
    target: str = ""

    def __post_init__(self) -> None:
        check_kind(self.kind)

    @property
    def tests(self) -> bool:
        return bool(self.baseline or self.across) if self.test is None else self.test


def check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise UsageError(f"--kind {kind} is not a kind of runs to report", suggest(kind, list(KINDS)))


@dataclass(frozen=True)
class SchedulePoint:
    """A point of each run's schedule: after a fraction of it, at the end of an epoch, or (neither given) at its end."""

    fraction: float | None = None
    epoch: int | None = None

    @property
    def is_end(self) -> bool:
        return self.fraction is None and self.epoch is None


def parse_at(text: str) -> SchedulePoint:
    """``50%`` -> a fraction of the schedule; ``epoch 10``, ``epoch=10`` or ``10`` -> an epoch; nothing -> the end."""
    if not text:
        return SchedulePoint()
    stripped, words = text.strip(), text.replace("=", " ").split()
    try:
        if stripped.endswith("%") and 0 < float(stripped[:-1]) <= 100:
            return SchedulePoint(fraction=float(stripped[:-1]) / 100)
        if len(words) <= 2 and words[-1].isascii() and words[-1].isdigit() and words[:-1] in ([], ["epoch"]):
            return SchedulePoint(epoch=int(words[-1]))
    except (ValueError, IndexError):
        pass
    raise UsageError(f"--at {text} is not a point of a schedule", "write --at 50% or --at 'epoch 10'")
