"""The database as DataFrames: runs with their settings, metrics in long form, raw series."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from sqlalchemy import Select, and_, func, or_, select

from normbench_cli.config import DEFAULTS, FIELDS
from normbench_cli.errors import UsageError
from normbench_cli.registry.spec import suggest
from normbench_cli.store.filter import Filter
from normbench_cli.store.metric_names import MetricName, parse_metric
from normbench_cli.store.rows import unpack
from normbench_cli.store.schema import Environment, Metric, Run, SeriesChunk
from normbench_cli.store.store import IN_LIMIT, Store

COLUMNS = (Run.id, Run.kind, Run.fingerprint, Run.status, Run.message, Run.started_at, Run.finished_at)
EDITABLE = (Run.tag, Run.note)  # may change after the run; its config keeps what they were
NAME = (Metric.split, Metric.name, Metric.condition)


def runs_frame(
    store: Store,
    *,
    kind: str | None = None,
    status: str | None = None,
    tag: str | None = None,
    where: Filter | None = None,
) -> pd.DataFrame:
    """A row a run, newest first; a column a setting, with its default where an older run did not record it.

    The column ``config`` has the settings as recorded.
    """
    query = select(*COLUMNS, *EDITABLE, Run.config).order_by(Run.started_at.desc(), Run.id)
    for column, value in ((Run.kind, kind), (Run.status, status), (Run.tag, tag)):
        if value is not None:
            query = query.where(column == value)
    with store.reading() as session:
        rows = session.execute(query).all()
    names = [column.key for column in (*COLUMNS, *EDITABLE)]
    records = [settings(row.kind, row.config) | dict(zip((*names, "config"), row, strict=True)) for row in rows]
    columns = list(dict.fromkeys([*names, *FIELDS, *(name for record in records for name in record)]))
    # dtype=object keeps values as they are: pandas would turn None and 20 into nan and 20.0
    values = [[record.get(name) for name in columns] for record in records]
    frame = pd.DataFrame(values, columns=columns, dtype=object)
    if where:
        frame = frame.loc[where.apply(with_metrics(store, frame, where) if where.metrics else frame).index]
    return frame.reset_index(drop=True)


def settings(kind: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """A run's settings as values that can be compared."""
    plain = {
        name: json.dumps(value, sort_keys=True) if isinstance(value, list | dict) else value
        for name, value in config.items()
    }
    return DEFAULTS | plain if kind == "train" else plain


def with_metrics(store: Store, frame: pd.DataFrame, where: Filter) -> pd.DataFrame:
    """The runs with a column for each metric that a filter compares: the last value, or None."""
    values = metrics_frame(store, None, where.metrics)
    columns = {}
    for name, place in where.metrics.items():
        found = values[values["metric"] == name]
        if found.empty and len(frame):
            what, do = f"no run has the metric '{name}'", suggest(name[:100], recorded_metrics(store))
            raise place.error(what, do) if place else UsageError(what, do)
        last = dict(zip(found["run_id"], found["value"], strict=True))
        columns[name] = pd.Series([last.get(run_id) for run_id in frame["id"]], index=frame.index, dtype=object)
    return frame.assign(**columns)


def recorded_metrics(store: Store) -> list[str]:
    """The names of all metrics of the database."""
    with store.reading() as session:
        return sorted(str(MetricName(*row)) for row in session.execute(select(*NAME).distinct()))


def metrics_frame(
    store: Store, run_ids: Sequence[str] | None = None, names: Iterable[str] | None = None, *, curve: bool = False
) -> pd.DataFrame:
    """Columns run_id, metric, epoch, value: each run's last value of each metric, or (``curve``) each epoch's."""
    epoch = (Metric.epoch,) if curve else ()
    latest_ids = select(func.max(Metric.id)).group_by(Metric.run_id, *NAME, *epoch)
    if curve:
        latest_ids = latest_ids.where(Metric.epoch.is_not(None))
    if names is not None:
        latest_ids = latest_ids.where(or_(*(is_named(name) for name in names)))
    if run_ids is not None and len(run_ids) <= IN_LIMIT:
        latest_ids = latest_ids.where(Metric.run_id.in_(run_ids))
    columns = (Metric.run_id, *NAME, Metric.epoch, Metric.value)
    return read_metrics(store, select(*columns).where(Metric.id.in_(latest_ids)).order_by(Metric.id), run_ids)


def read_metrics(store: Store, query: Select[*tuple[Any, ...]], run_ids: Sequence[str] | None) -> pd.DataFrame:
    wanted = None if run_ids is None else set(run_ids)
    full: dict[tuple[str, str, str], str] = {}  # cached: there are few names and many rows
    rows = []
    with store.reading() as session:
        for run_id, split, name, condition, epoch, value in session.execute(query):
            if wanted is None or run_id in wanted:
                key = (split, name, condition)
                metric = full.get(key) or full.setdefault(key, str(MetricName(*key)))
                rows.append((run_id, metric, epoch, value))
    frame = pd.DataFrame(rows, columns=["run_id", "metric", "epoch", "value"])
    return frame.astype({"epoch": "float64", "value": "float64"})


def is_named(full: str) -> Any:
    name = parse_metric(full)
    return and_(Metric.split == name.split, Metric.name == name.name, Metric.condition == name.condition)


def environment_facts(store: Store, run_ids: Sequence[str]) -> list[dict[str, Any]]:
    """The facts of the environments in which these runs were made, each environment once."""
    wanted = set(run_ids)
    with store.reading() as session:
        used = {number for run_id, number in session.execute(select(Run.id, Run.environment_id)) if run_id in wanted}
        rows = session.execute(select(Environment.id, Environment.facts)).all()
    return [facts for number, facts in rows if number in used]


def series_names(store: Store, run_id: str) -> list[str]:
    """The names of a run's raw series."""
    with store.reading() as session:
        return sorted(set(session.scalars(select(SeriesChunk.name).where(SeriesChunk.run_id == run_id))))


def series(store: Store, run_id: str, name: str) -> pd.Series:
    """A raw series of a run, its chunks joined; the index is the step, from 0."""
    query = select(SeriesChunk).where(SeriesChunk.run_id == run_id, SeriesChunk.name == name).order_by(SeriesChunk.id)
    with store.reading() as session:
        chunks = list(session.scalars(query))
    steps = [step for chunk in chunks for step in range(chunk.first_step, chunk.first_step + chunk.count)]
    values = [value for chunk in chunks for value in unpack(chunk.data)]
    return pd.Series(values, index=steps, name=name, dtype="float32")
