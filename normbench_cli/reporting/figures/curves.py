"""Figures of curves: metrics and raw series over epochs, steps or seconds of training."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from normbench_cli.registry.spec import suggest
from normbench_cli.reporting.curves import by_epoch, by_step, curve_names, curve_points
from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.epoch_ends import TIME, epoch_ends
from normbench_cli.reporting.figures.groups import group_options, labels_of
from normbench_cli.reporting.figures.query import PlotQuery
from normbench_cli.reporting.query import NothingMeasured
from normbench_cli.reporting.selection import Selection
from normbench_cli.store import Store
from normbench_cli.store.queries import metrics_frame

USUAL = (
    *("test/accuracy", "validation/accuracy", "train/loss", "phi/mean", "solver/iterations_mean", "weights/l2"),
    *("bn/gamma2_minus_sigma2", "bn/beta_minus_mu"),
)


def make_curves(store: Store, selection: Selection, plot: PlotQuery) -> Iterator[Figure]:
    finished = selection.finished
    recorded = set(metrics_frame(store, finished["id"].tolist(), plot.metrics or USUAL, curve=True)["metric"])
    names = list(plot.metrics) or [name for name in USUAL if name in recorded]
    if not names:
        raise NothingMeasured("no finished run has a curve", "see `normbench runs list`")
    for name in names:
        by = plot.options.get("by", "")
        points = points_by(store, selection, name, by)
        options = {"metric": name, **group_options(selection)}
        yield Figure(f"{name} over the training", f"curve-{name}{f'-{by}' if by else ''}", "curve", points, options)


def points_by(store: Store, selection: Selection, name: str, by: str) -> pd.DataFrame:
    """Columns group, at, mean, sd, n, unit_of_at, runs.  Without `by`: epochs if there are several, else steps."""
    runs = selection.finished
    if by == "step":
        found = by_step(store, runs, name)
    else:
        found = by_epoch(store, runs, name)
        if not by and (found.empty or found["at"].nunique() == 1):
            return curve_points(store, selection, name)
    if found.empty:
        raise NothingMeasured(
            f"no finished run has '{name}' by {by or 'epoch'}", suggest(name, curve_names(store, runs))
        )
    points = found.groupby(["group", "at"])["value"].agg(["mean", "std", "count"]).reset_index()
    points = points.rename(columns={"std": "sd", "count": "n"})
    if by == "seconds":
        points = at_seconds(store, runs, points)
    points["group"] = points["group"].map(labels_of(selection))
    return points.assign(unit_of_at=by or "epoch")


def at_seconds(store: Store, runs: pd.DataFrame, points: pd.DataFrame) -> pd.DataFrame:
    """The points at their group's mean training time at the end of the epoch, instead of at the epoch."""
    times = pd.concat([epoch_ends(store, run.id).assign(group=run.group) for run in runs.itertuples()])
    if times.empty:
        raise NothingMeasured(f"no finished run has recorded the time of its steps ({TIME})", "leave out by=seconds")
    mean = times.groupby(["group", "at"], as_index=False)["seconds"].mean()
    return points.merge(mean, on=["group", "at"]).drop(columns="at").rename(columns={"seconds": "at"})
