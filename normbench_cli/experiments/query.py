"""Recorded runs and metrics as DataFrames: `nb.runs()`, `nb.metrics()`.  Loads pandas and SQLAlchemy, never torch."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import pandas as pd

from normbench_cli.config import GRID_FIELDS
from normbench_cli.store import Store, queries
from normbench_cli.store.filter import parse_where

Where = str | Iterable[str]
SETTINGS = (*GRID_FIELDS, "seed")  # repeated in every row of `metrics`


def runs(where: Where | None = None, db: str | None = None) -> pd.DataFrame:
    """Return the recorded runs, newest first: a row per run, a column per setting.

    where: ``key=value``, an expression over settings and metrics, or a list of them that must all hold, as in
    ``--where``; a key given twice as ``key=value`` accepts both values.
    db: a path or an SQLAlchemy URL; None means NORMBENCH_DB or the database in the home folder.

    >>> nb.runs(where="norm=augnorm:phi=1.5")[["id", "status", "act", "seed"]]
    >>> nb.runs(where="norm in (batchnorm, popnorm) and test/accuracy > 0.9")
    """
    with Store.open(db, write=False) as store:
        found = queries.runs_frame(store, where=parse_where(conditions(where)))
        warn_of_damage(store)
    return found


def metrics(name: str | Iterable[str], where: Where | None = None, db: str | None = None) -> pd.DataFrame:
    """Return the values of one or several metrics, in long form: a row per run, metric and epoch.

    A value that belongs to the whole run, such as `peak_memory_bytes` of a cross-validation or the scores added by
    `evaluate`, has no epoch.  where, db: as in `runs`.

    >>> nb.metrics("train/loss", where=["norm=popnorm", "seed=0"])
    >>> nb.metrics(["test/accuracy", "test/accuracy@gaussian"]).groupby(["norm", "metric"])["value"].max()
    """
    names = [name] if isinstance(name, str) else list(name)
    with Store.open(db, write=False) as store:
        chosen = queries.runs_frame(store, where=parse_where(conditions(where)))
        run_ids = chosen["id"].tolist()
        by_epoch = queries.metrics_frame(store, run_ids, names, curve=True)
        last = queries.metrics_frame(store, run_ids, names)
        warn_of_damage(store)
    values = pd.concat([by_epoch, last[last["epoch"].isna()]], ignore_index=True)
    return values.merge(chosen[["id", *SETTINGS]].rename(columns={"id": "run_id"}), on="run_id", how="left")


def warn_of_damage(store: Store) -> None:
    """Warn of damaged records that were left out; the commands print the same messages."""
    for line in store.damage():
        warnings.warn(line, RuntimeWarning, stacklevel=3)


def conditions(where: Where | None) -> list[str]:
    return [where] if isinstance(where, str) else list(where or ())
