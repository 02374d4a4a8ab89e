"""What two sides measured: means side by side, and the differences of pairs with equal seed."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from normbench_cli.reporting.compare.settings import pairing_settings
from normbench_cli.reporting.compare.sides import COMPARED, Side
from normbench_cli.reporting.statistics.groups import by_seed, compared
from normbench_cli.reporting.statistics.multiple import holm
from normbench_cli.reporting.statistics.paired import LEVEL
from normbench_cli.reporting.statistics.summary import Summary, summarize


@dataclass(frozen=True)
class MetricComparison:
    """A metric on both sides; None for a side without it.

    difference: B minus A over the pairs, with the fields of `statistics.Comparison`, ``diverged`` and ``unpaired`` as
    in `statistics.GroupComparisons`, and ``p_holm``: the permutation test's p-value corrected over all metrics.
    """

    metric: str
    a: Summary | None
    b: Summary | None
    difference: Mapping[str, Any]


def compare_metrics(a: Side, b: Side, values: pd.DataFrame, metrics: Sequence[str]) -> list[MetricComparison]:
    """values: columns run_id, metric and value, the last value of each run."""
    pairing = pairing_settings(a, b)
    found = []
    for metric in metrics:
        of_run = dict(values.loc[values["metric"] == metric, ["run_id", "value"]].itertuples(index=False, name=None))
        mine, theirs = (seeds_of(side, of_run, pairing) for side in (a, b))
        found.append((metric, means(a, of_run), means(b, of_run), compared(theirs, mine, LEVEL, len(metrics))))
    corrected = holm([difference["p_permutation"] for *_, difference in found])
    return [
        MetricComparison(metric, of_a, of_b, difference | {"p_holm": p})
        for (metric, of_a, of_b, difference), p in zip(found, corrected, strict=True)
    ]


def seeds_of(side: Side, value_of: Mapping[str, float], pairing: Sequence[str]) -> Mapping[Hashable, float]:
    """The value for each seed and its pairing settings, averaged over runs; nan where a run diverged."""
    runs = side.runs[side.runs["status"].isin(COMPARED)]
    rows = [
        ("", seed, value_of.get(run_id, math.nan) if status == "finished" else math.nan)
        for run_id, status, *seed in runs[["id", "status", "seed", *pairing]].itertuples(index=False, name=None)
        if status == "diverged" or run_id in value_of
    ]
    frame = pd.DataFrame(
        [(group, tuple(seed), value) for group, seed, value in rows], columns=["group", "seed", "value"]
    )
    return by_seed(frame).get("", {})


def means(side: Side, value_of: Mapping[str, float]) -> Summary | None:
    values = [value_of[run_id] for run_id in side.finished["id"] if run_id in value_of]
    return summarize(values) if values else None
