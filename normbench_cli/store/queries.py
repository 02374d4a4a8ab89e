"""The database as DataFrames: runs with their settings, metrics in long form, raw series."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy import and_, func, or_, select
from sqlalchemy.orm import Session

from normbench_cli.config import DEFAULTS, FIELDS
from normbench_cli.errors import UsageError
from normbench_cli.registry.spec import suggest
from normbench_cli.store.errors import SEE_CHECK, DamagedValue
from normbench_cli.store.filter import Filter
from normbench_cli.store.metric_names import MetricName, parse_metric
from normbench_cli.store.reading import CHUNKS_AT_ONCE, ENVIRONMENTS, RUNS, AnyRow, AnySelect, fetch, fetch_each
from normbench_cli.store.reservations import IN_LIMIT
from normbench_cli.store.rows import check_length, kept_count, kept_indices, unpack
from normbench_cli.store.schema import Environment, Metric, Run, SeriesChunk
from normbench_cli.store.store import Store

COLUMNS = (Run.id, Run.kind, Run.fingerprint, Run.status, Run.message, Run.started_at, Run.finished_at)
EDITABLE = (Run.tag, Run.note)  # may change after the run; its config keeps the original values
CHUNK = (SeriesChunk.first_step, SeriesChunk.count, SeriesChunk.data, SeriesChunk.thinned)
NAME = (Metric.split, Metric.name, Metric.condition)


def runs_frame(
    store: Store,
    *,
    kind: str | None = None,
    status: str | None = None,
    tag: str | None = None,
    where: Filter | None = None,
) -> pd.DataFrame:
    """One row per run, newest first; one column per setting, with its default where an older run did not record it.

    The column ``config`` has the settings as recorded.  Damaged runs are left out and named by `Store.damage`.
    """
    query = select(*COLUMNS, *EDITABLE, Run.config).order_by(Run.started_at.desc(), Run.id)
    for column, value in ((Run.kind, kind), (Run.status, status), (Run.tag, tag)):
        if value is not None:
            query = query.where(column == value)
    rows = read_runs(store, query)
    names = [column.key for column in (*COLUMNS, *EDITABLE)]
    records = [settings(row.kind, row.config) | dict(zip((*names, "config"), row, strict=True)) for row in rows]
    columns = list(dict.fromkeys([*names, *FIELDS, *(name for record in records for name in record)]))
    # dtype=object preserves values: pandas would turn None and 20 into nan and 20.0
    values = [[record.get(name) for name in columns] for record in records]
    frame = pd.DataFrame(values, columns=columns, dtype=object)
    if where:
        frame = frame.loc[where.apply(with_metrics(store, frame, where) if where.metrics else frame).index]
    return frame.reset_index(drop=True)


def details_of(store: Store, run_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Run -> its recorded details."""
    found: dict[str, dict[str, Any]] = {}
    with store.reading() as session:
        for start in range(0, len(run_ids), IN_LIMIT):
            some = select(Run.id, Run.details).where(Run.id.in_(run_ids[start : start + IN_LIMIT]))
            rows, problems = fetch_each(session, some, RUNS)
            store.left_out |= problems
            found |= {run_id: details for run_id, details in rows if isinstance(details, dict)}
    return found


def read_runs(store: Store, query: AnySelect) -> list[AnyRow]:
    """The undamaged runs, newest first."""
    with store.reading() as session:
        rows, problems = fetch_each(session, query, RUNS)
    if problems and not rows:
        (name, what), more = next(iter(problems.items())), len(problems) - 1
        raise DamagedValue(f"{name}: {what}" + (f", and {more} more runs are damaged" if more else ""), SEE_CHECK)
    store.left_out |= problems
    return sorted(sorted(rows, key=lambda run: run.id), key=lambda run: run.started_at, reverse=True)


def settings(kind: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """A run's settings as comparable values."""
    plain = {
        name: json.dumps(value, sort_keys=True) if isinstance(value, list | dict) else value
        for name, value in config.items()
    }
    return DEFAULTS | plain if kind in ("train", "profile") else plain


def with_metrics(store: Store, frame: pd.DataFrame, where: Filter) -> pd.DataFrame:
    """Add a column for each metric that a filter compares: the last value, or None."""
    values = metrics_frame(store, None, where.metrics)
    columns = {}
    for name, position in where.metrics.items():
        found = values[values["metric"] == name]
        if found.empty and len(frame):
            what, do = f"no run has the metric '{name}'", suggest(name[:100], recorded_metrics(store))
            raise position.error(what, do) if position else UsageError(what, do)
        last = dict(zip(found["run_id"], found["value"], strict=True))
        columns[name] = pd.Series([last.get(run_id) for run_id in frame["id"]], index=frame.index, dtype=object)
    return frame.assign(**columns)


def recorded_metrics(store: Store) -> list[str]:
    """The names of all metrics in the database."""
    with store.reading() as session:
        return sorted(str(MetricName(*row)) for row in session.execute(select(*NAME).distinct()))


def metrics_frame(
    store: Store, run_ids: Sequence[str] | None = None, names: Iterable[str] | None = None, *, curve: bool = False
) -> pd.DataFrame:
    """Columns run_id, metric, epoch, value: each run's last value of each metric, or (``curve``) each epoch's.

    A run with a damaged row is left out completely; otherwise an earlier value might count as its last one.
    """
    names = None if names is None else list(names)
    query = metrics_query(run_ids if run_ids is None or len(run_ids) <= IN_LIMIT else None, names, curve)
    with store.reading() as session:
        try:
            rows = list(read_metrics(session, query, run_ids))
        except DamagedValue:
            rows = []
            for run_id in sound_ids(session) if run_ids is None else run_ids:
                try:
                    rows += list(read_metrics(session, metrics_query([run_id], names, curve), None))
                except DamagedValue as error:
                    store.left_out[f"run {run_id}"] = f"its metrics are damaged: {error}"
    frame = pd.DataFrame(rows, columns=["run_id", "metric", "epoch", "value"])
    return frame.astype({"epoch": "float64", "value": "float64"})


def metrics_query(run_ids: Sequence[str] | None, names: Sequence[str] | None, curve: bool) -> AnySelect:
    epoch = (Metric.epoch,) if curve else ()
    latest_ids = select(func.max(Metric.id)).group_by(Metric.run_id, *NAME, *epoch)
    if curve:
        latest_ids = latest_ids.where(Metric.epoch.is_not(None))
    if names is not None:
        latest_ids = latest_ids.where(or_(*(is_named(name) for name in names)))
    if run_ids is not None:
        latest_ids = latest_ids.where(Metric.run_id.in_(run_ids))
    columns = (Metric.run_id, *NAME, Metric.epoch, Metric.value)
    return select(*columns).where(Metric.id.in_(latest_ids)).order_by(Metric.id)


def sound_ids(session: Session) -> list[str]:
    """The ids of all readable runs."""
    return [run_id for (run_id,) in fetch_each(session, select(Run.id), RUNS)[0]]


def read_metrics(session: Session, query: AnySelect, run_ids: Sequence[str] | None) -> Iterator[tuple[Any, ...]]:
    wanted = None if run_ids is None else set(run_ids)
    full: dict[tuple[str, str, str], str] = {}  # cached: there are few names and many rows
    for run_id, split, name, condition, epoch, value in fetch(session, query):
        if wanted is None or run_id in wanted:
            key = (split, name, condition)
            yield run_id, full.get(key) or full.setdefault(key, str(MetricName(*key))), epoch, value


def is_named(full: str) -> Any:
    name = parse_metric(full)
    return and_(Metric.split == name.split, Metric.name == name.name, Metric.condition == name.condition)


def environment_facts(store: Store, run_ids: Sequence[str]) -> list[dict[str, Any]]:
    """The facts of the environments of these runs, without duplicates."""
    wanted = set(run_ids)
    with store.reading() as session:
        used = {number for run_id, number in session.execute(select(Run.id, Run.environment_id)) if run_id in wanted}
        rows, _ = fetch_each(session, select(Environment.id, Environment.facts), ENVIRONMENTS)
    return [facts for number, facts in rows if number in used]


def series_names(store: Store, run_id: str) -> list[str]:
    """The names of a run's raw series."""
    query = select(SeriesChunk.name).where(SeriesChunk.run_id == run_id).distinct()
    with store.reading() as session, naming(f"run {run_id}: its series are damaged"):
        return sorted(name for (name,) in fetch(session, query))


def series(store: Store, run_id: str, name: str) -> pd.Series:
    """A raw series of a run, with its chunks joined; the index is the step, from 0, with gaps where it was thinned.

    The length is checked before anything is unpacked.
    """
    chunk = (SeriesChunk.run_id == run_id, SeriesChunk.name == name)
    query = select(*CHUNK).where(*chunk).order_by(SeriesChunk.id)
    steps, values, total = [], [], 0
    with store.reading() as session, naming(f"run {run_id}: its series {name} is damaged"):
        for first, count, data, thinned in fetch(session, query, CHUNKS_AT_ONCE):
            total += kept_count(count, thinned)
            check_length(total)
            values.append(np.frombuffer(unpack(data, kept_count(count, thinned)), dtype="float32"))
            steps.append(first + np.array(kept_indices(count, thinned), dtype="int64"))
    joined = np.concatenate(values) if values else np.empty(0, "float32")
    return pd.Series(joined, index=np.concatenate(steps) if steps else None, name=name, dtype="float32")


@contextmanager
def naming(what: str) -> Iterator[None]:
    """Name the damaged item in errors about damaged values."""
    try:
        yield
    except DamagedValue as error:
        raise DamagedValue(f"{what}: {error}", SEE_CHECK) from error
