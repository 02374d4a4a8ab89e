"""Curves of both sides in one plot, and step times of profiles relative to each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from normbench_cli.reporting.compare.sides import Side
from normbench_cli.reporting.curves import by_epoch, by_step
from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.figures.profiles import TIME, paired_ratio, sessions
from normbench_cli.store import Store
from normbench_cli.store.queries import series, series_names


def curve_figures(store: Store, sides: tuple[Side, Side], names: Iterable[str]) -> Iterator[Figure]:
    """Yield a figure for each metric or raw series that has a curve on either side."""
    runs = pd.concat([side.finished.assign(group=label(side)) for side in sides], ignore_index=True)
    for name in names:
        found, unit = by_epoch(store, runs, name), "epoch"
        if found["at"].nunique() < 2:
            found, unit = by_step(store, runs, name), "step"
        if len(found) and found["at"].nunique() > 1:
            points = found.groupby(["group", "at"])["value"].agg(["mean", "std", "count"]).reset_index()
            points = points.rename(columns={"std": "sd", "count": "n"}).assign(unit_of_at=unit)
            yield Figure(f"{name} over the training", f"compare-{name}", "curve", points, {"metric": name})


def label(side: Side) -> str:
    return f"{side.name}: {side.text}"


def profile_ratios(store: Store, a: Side, b: Side) -> pd.DataFrame:
    """Columns norm, reference, at, ratio, low, high, interleaved, runs: the step time of B relative to A.

    interleaved: both were measured in alternating rounds of one process, so the ratio is the median of the per-round
    ratios, with a bootstrap interval.  Otherwise it is the ratio of medians, which includes any drift of the machine.
    """
    rows: list[dict[str, Any]] = []
    together = dict(zip(a.finished["id"], sessions(store, a.finished["id"].tolist()), strict=True))
    others = dict(zip(b.finished["id"], sessions(store, b.finished["id"].tolist()), strict=True))
    for base in a.finished.itertuples():
        for run in b.finished.itertuples():
            interleaved = together[base.id] == others[run.id]
            names = {"norm": run.norm, "reference": base.norm, "runs": (run.id, base.id)}
            rows += [names | found for found in ratios_of(store, str(run.id), str(base.id), interleaved=interleaved)]
    return pd.DataFrame(rows)


def ratios_of(store: Store, run_id: str, base_id: str, *, interleaved: bool) -> Iterator[dict[str, Any]]:
    """Yield a row for each shape or model that both profiles measured."""
    for name in sorted({*series_names(store, run_id)} & {*series_names(store, base_id)}):
        metric, _, place = name.partition("@")
        own, base = (series(store, one, name).to_numpy("float64") for one in (run_id, base_id))
        if metric != TIME or not len(own) or not len(base):
            continue
        paired = interleaved and len(own) == len(base)
        ratio, low, high = paired_ratio(own, base) if paired else (np.median(own) / np.median(base), np.nan, np.nan)
        yield {"at": place, "ratio": float(ratio), "low": float(low), "high": float(high), "interleaved": paired}


def ratio_figure(ratios: pd.DataFrame, sides: tuple[Side, Side]) -> Figure:
    points = ratios.rename(columns={"norm": "group"})
    options = {"metric": TIME, "reference": label(sides[0])}
    return Figure("Step time of B relative to A", "compare-ratios", "ratios", points, options)
