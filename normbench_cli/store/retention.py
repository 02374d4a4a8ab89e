"""Finding old runs, and those worth keeping."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import pandas as pd

from normbench_cli.config import FIELDS
from normbench_cli.errors import UsageError
from normbench_cli.store.filter import Filter
from normbench_cli.store.metric_names import higher_is_better
from normbench_cli.store.queries import metrics_frame, runs_frame
from normbench_cli.store.rows import now
from normbench_cli.store.store import Store

DAYS = {"h": 1 / 24, "d": 1, "w": 7, "y": 365}
LABELS = ("tag", "note", "seed")  # runs that differ only in these repeat the same cell


def parse_age(text: str) -> timedelta:
    """Parse ``90d`` as 90 days; also hours, weeks and years."""
    found = re.fullmatch(r"(\d{1,6}(?:\.\d+)?)([hdwy])", text.strip().lower(), re.ASCII)
    if not found:
        raise UsageError(f"--older-than {text} is not an age", "write 90d, 12h, 6w or 1y")
    days = float(found[1]) * DAYS[found[2]]
    if days > 100 * 365:
        raise UsageError(f"--older-than {text} is above 100 years", "write 90d, 12h, 6w or 1y")
    return timedelta(days=days)


def old_runs(store: Store, age: timedelta, where: Filter | None = None, moment: datetime | None = None) -> pd.DataFrame:
    """The runs that ended longer ago than this, oldest first, without those still running."""
    runs = runs_frame(store, where=where)
    before = (moment or now()) - age
    ended = [run.finished_at or run.started_at for run in runs.itertuples()]
    old = [end < before and status != "running" for end, status in zip(ended, runs["status"], strict=True)]
    return runs.assign(ended=pd.Series(ended, index=runs.index, dtype=object))[old].iloc[::-1]


def best_runs(store: Store, metric: str) -> set[str]:
    """Of all recorded runs, the finished run of each cell with the best last value of a metric.

    A cell is the set of runs whose settings differ only in seed, tag and note.  If no run of a cell has the metric, as
    with profiles, the newest one is taken.
    """
    higher = higher_is_better(metric)
    if higher is None:
        do = "name one such as test/accuracy, test/loss or step_time_ms"
        raise UsageError(f"--metric {metric[:100]}: it is not known whether higher or lower is better", do)
    runs = runs_frame(store, status="finished")
    values = metrics_frame(store, None, [metric]).dropna(subset="value")
    last = dict(zip(values["run_id"], values["value"], strict=True))
    cells: dict[str, list[str]] = {}
    for run in runs.itertuples():  # newest first
        cells.setdefault(cell_of(str(run.kind), run.config), []).append(str(run.id))
    return {best_of(ids, last, higher) for ids in cells.values()}


def cell_of(kind: str, config: Mapping[str, Any]) -> str:
    same = {name: value for name, value in config.items() if name not in LABELS and matters(name)}
    return json.dumps([kind, same], sort_keys=True)


def matters(setting: str) -> bool:
    """Whether a setting affects the result; unknown settings of other versions may."""
    return setting not in FIELDS or bool(FIELDS[setting].metadata.get("identity", True))


def best_of(ids: Iterable[str], last: Mapping[str, float], higher: bool) -> str:
    """The best run; on a tie, the newest."""
    measured = [run_id for run_id in ids if run_id in last]
    if not measured:
        return next(iter(ids))
    return (max if higher else min)(measured, key=last.__getitem__)
