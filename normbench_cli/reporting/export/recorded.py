"""A recorded run, in the form that all tools use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import pandas as pd
from sqlalchemy import select

from normbench_cli.nested import flattened
from normbench_cli.registry.spec import format_value
from normbench_cli.store import Store
from normbench_cli.store.metric_names import MetricName
from normbench_cli.store.queries import series, series_names
from normbench_cli.store.schema import Metric, Run

STEPS = "steps/"  # prefix of a raw series' name


class Value(NamedTuple):
    name: str
    at: int
    value: float
    time: float  # seconds since 1970


@dataclass(frozen=True)
class RecordedRun:
    """id, status, tag, note; settings and facts about code and machine as text and numbers; command: what started it.

    by_epoch: the curves; final: the last value of every metric; series: raw values, one per step.
    started, ended: seconds since 1970.
    """

    id: str
    status: str
    tag: str
    note: str
    command: str
    settings: dict[str, Any]
    environment: dict[str, Any]
    by_epoch: list[Value]
    final: dict[str, float]
    series: dict[str, pd.Series]
    started: float
    ended: float

    @property
    def name(self) -> str:
        """The main settings and the id."""
        words = [str(self.settings[name]) for name in ("norm", "act", "model", "data") if self.settings.get(name)]
        seed = self.settings.get("seed")
        return " ".join([*words, *([f"seed {seed}"] if seed is not None else []), self.id])

    def once(self) -> list[Value]:
        """The metrics of the whole run, at its last epoch."""
        last = max((value.at for value in self.by_epoch), default=0)
        curves = {value.name for value in self.by_epoch}
        return [Value(name, last, value, self.ended) for name, value in self.final.items() if name not in curves]

    def by_step(self) -> Iterator[Value]:
        """The values of all raw series, at the step in which they were measured, counted from 1."""
        length = max((int(values.index[-1]) + 1 for values in self.series.values()), default=1)
        pace = (self.ended - self.started) / length
        for name, values in self.series.items():
            for step, value in values.items():
                at = int(str(step)) + 1
                yield Value(STEPS + name, at, float(value), self.started + at * pace)  # interpolated in time


def read_runs(store: Store, run_ids: Sequence[str]) -> Iterator[RecordedRun]:
    """Yield the runs one by one: a large database need not fit into memory."""
    for run_id in run_ids:
        yield read_run(store, store.find(run_id))


def read_run(store: Store, run: Run) -> RecordedRun:
    columns = (Metric.split, Metric.name, Metric.condition, Metric.epoch, Metric.value, Metric.recorded_at)
    with store.reading() as session:
        rows = session.execute(select(*columns).where(Metric.run_id == run.id).order_by(Metric.id)).all()
    by_epoch: dict[tuple[str, int], Value] = {}
    final: dict[str, float] = {}
    for split, part, condition, epoch, value, moment in rows:
        name = str(MetricName(split, part, condition))
        final[name] = value
        if epoch is not None:
            by_epoch[name, epoch] = Value(name, epoch, value, moment.timestamp())  # a later one replaces an earlier one
    return RecordedRun(
        run.id,
        run.status,
        run.tag,
        run.note,
        " ".join(["normbench", *run.argv]),
        simple(run.config),
        simple(run.environment.facts),
        list(by_epoch.values()),
        final,
        {name: series(store, run.id, name) for name in series_names(store, run.id)},
        run.started_at.timestamp(),
        ended(run).timestamp(),
    )


def ended(run: Run) -> datetime:
    return run.finished_at or run.heartbeat_at


def simple(values: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted names and values; anything but numbers and text is formatted as text."""
    return {
        name: value if isinstance(value, bool | int | float | str) else format_value(value)
        for name, value in flattened(values)
    }
