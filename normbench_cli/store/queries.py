"""The database as DataFrames: runs with their settings, metrics in long form, raw series."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from sqlalchemy import Select, and_, func, or_, select

from normbench_cli.config import DEFAULTS, FIELDS, REGISTRIES, TYPES, read_assignments
from normbench_cli.registry.spec import read_value
from normbench_cli.store.metric_names import MetricName, parse_metric
from normbench_cli.store.rows import unpack
from normbench_cli.store.schema import Metric, Run, SeriesChunk
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
    where: Mapping[str, Sequence[str]] | None = None,
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
    for name, accepted in (where or {}).items():
        frame = frame[frame[name].isin(parse_values(name, accepted, frame[name]))]
    return frame.reset_index(drop=True)


def settings(kind: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """A run's settings as values that can be compared."""
    plain = {
        name: json.dumps(value, sort_keys=True) if isinstance(value, list | dict) else value
        for name, value in config.items()
    }
    return DEFAULTS | plain if kind == "train" else plain


def parse_where(pairs: Iterable[str]) -> dict[str, list[str]]:
    """``key=value`` filters -> the accepted texts of each setting; a key given twice accepts both values."""
    accepted: dict[str, list[str]] = {}
    for key, value in read_assignments("--where", pairs):
        accepted.setdefault(key, []).append(value)
    return accepted


def parse_values(name: str, texts: Sequence[str], recorded: pd.Series) -> list[Any]:
    """The texts as values of a setting; one that is recorded in exactly this form needs no registry."""
    known, values = set(recorded), []
    for text in texts:
        if text in known:
            values.append(text)
        elif name in REGISTRIES:
            values.append(REGISTRIES[name].recorded_form(text))
        else:
            values.append(read_value(text, TYPES[name], name))
    return values


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
