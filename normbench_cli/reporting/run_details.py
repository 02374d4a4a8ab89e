"""What an interactive report shows for each run: settings, environment, metrics, curves, the command."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import pandas as pd
from sqlalchemy import select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from normbench_cli.config import GRID_FIELDS, IDENTITY
from normbench_cli.registry.spec import format_value
from normbench_cli.store import Store
from normbench_cli.store.errors import DamagedValue
from normbench_cli.store.queries import metrics_frame
from normbench_cli.store.reading import fetch_run
from normbench_cli.store.reservations import IN_LIMIT
from normbench_cli.store.schema import Run

MAX_POINTS = 60  # of a curve, which is drawn as a thumbnail
MAX_CURVES = 12


def run_details(store: Store, run_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """For each run its status, command, settings, environment, last metrics and curves by epoch, as JSON values."""
    values = metrics_frame(store, run_ids)
    metrics = {
        run_id: dict(zip(part["metric"], part["value"], strict=True)) for run_id, part in values.groupby("run_id")
    }
    by_epoch = metrics_frame(store, run_ids, curve=True)
    curves = {run_id: dict(curves_of(part)) for run_id, part in by_epoch.groupby("run_id")}
    return {
        run.id: facts_of(run) | {"metrics": metrics.get(run.id, {}), "curves": curves.get(run.id, {})}
        for run in read_runs(store, run_ids)
    }


def read_runs(store: Store, run_ids: Sequence[str]) -> Iterator[Run]:
    """The runs; those with a damaged value are left out, as in the tables."""
    left = iter(run_ids)
    with store.reading() as session:
        while some := list(islice(left, IN_LIMIT)):
            try:
                yield from session.scalars(select(Run).where(Run.id.in_(some))).all()
            except (DamagedValue, DBAPIError):
                yield from read_each(store, session, some)


def read_each(store: Store, session: Session, run_ids: Sequence[str]) -> Iterator[Run]:
    for run_id in run_ids:
        try:
            yield fetch_run(session, run_id)
        except DamagedValue as error:
            store.left_out[f"run {run_id}"] = str(error)


def facts_of(run: Run) -> dict[str, Any]:
    return {
        "status": run.status,
        "message": run.message,
        "tag": run.tag,
        "note": run.note,
        "started": f"{run.started_at:%Y-%m-%d %H:%M:%S} UTC",
        "fingerprint": run.fingerprint,
        "command": command_of(run.kind, run.config, run.argv),
        "settings": dict(run.config),
        "environment": dict(run.environment.facts),
    }


def command_of(kind: str, config: Mapping[str, Any], argv: Sequence[str]) -> str:
    """The command that repeats this run alone, not its grid; for kinds other than train, the recorded one."""
    if kind != "train":
        return shlex.join(["normbench", *argv])
    given = {name: config[name] for name in IDENTITY if config.get(name) is not None}
    words = [word for name in (*GRID_FIELDS, "seed") if name in given for word in (f"--{name}", str(given[name]))]
    for name, value in given.items():
        if name not in (*GRID_FIELDS, "seed") and (name, value) != ("folds", 0):  # no folds means no cross-validation
            words += ["--set", f"{name}={format_value(value)}"]  # also defaults: a recipe's may change
    return shlex.join(["normbench", "train", *words])


def curves_of(values: pd.DataFrame) -> Iterator[tuple[str, list[list[float]]]]:
    """The curves of more than one epoch, with at most `MAX_POINTS` points each."""
    curves = ((name, part) for name, part in values.groupby("metric", sort=False) if len(part) > 1)
    for name, part in islice(curves, MAX_CURVES):
        every = -(-len(part) // MAX_POINTS)
        last = part.iloc[::-1][::every].iloc[::-1]
        yield str(name), [[float(at), float(value)] for at, value in zip(last["epoch"], last["value"], strict=True)]
