"""The total cost of a network's norms: the times of its shapes, weighted by how often the network uses each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from normbench_cli.experiments.profiling.measure import Measured
from normbench_cli.experiments.profiling.plan import REFERENCES
from normbench_cli.measure.ratios import BOOTSTRAPS
from normbench_cli.measure.timing import ratio

Row = dict[str, Any]


def total_rows(measured: Iterable[Measured]) -> list[Row]:
    """Return a row per contender and reference for each kind of case, if both were measured at all of its shapes.

    sum_ms: of the medians, times the counts.  sum_ratio: of the two sums, with a bootstrap 95 % interval over the
    rounds of each shape.  geometric_mean: of the ratios, weighted by the counts.
    """
    groups: dict[Any, list[Measured]] = {}
    for found in measured:
        if found.place.case:
            groups.setdefault(replace(found.place.case, shape=()), []).append(found)
    return [
        {"contender": name, "reference": reference, **way_columns(way), **total(members, name, reference)}
        for way, members in groups.items()
        if len(members) > 1
        for name, reference in product(common_contenders(members), REFERENCES)
        if all(reference in each.timings for each in members)
    ]


def way_columns(way: Any) -> Row:
    return {
        "dtype": way.dtype,
        "memory_format": way.memory_format,
        "call": way.call,
        "pass": way.timed,
        "start": way.start,
    }


def common_contenders(members: Sequence[Measured]) -> list[str]:
    return [name for name in members[0].timings if all(name in each.timings for each in members)]


def total(members: Sequence[Measured], name: str, reference: str) -> Row:
    counts = np.array([each.place.count for each in members], dtype=float)
    own, base = (np.array([each.timings[one].median for each in members]) for one in (name, reference))
    ratios = np.array([ratio(each.timings[name], each.timings[reference]).median for each in members])
    low, high = sum_ratio_interval(members, counts, name, reference)
    return {
        "shapes": len(members),
        "calls": int(counts.sum()),
        "sum_ms": float(counts @ own),
        "sum_ratio": float(counts @ own / (counts @ base)),
        "sum_ratio_low": low,
        "sum_ratio_high": high,
        "geometric_mean": float(np.exp(counts @ np.log(ratios) / counts.sum())),
    }


def sum_ratio_interval(
    members: Sequence[Measured], counts: np.ndarray, name: str, reference: str
) -> tuple[float, float]:
    """The bootstrap interval: rounds are resampled within each shape, both contenders of a round together."""
    rng = np.random.default_rng(0)
    sums = np.zeros((2, BOOTSTRAPS))
    for count, each in zip(counts, members, strict=True):
        samples = np.array([each.timings[one].samples for one in (name, reference)])
        drawn = rng.integers(samples.shape[1], size=(BOOTSTRAPS, samples.shape[1]))
        sums += count * np.median(samples[:, drawn], axis=2)
    low, high = np.percentile(sums[0] / sums[1], (2.5, 97.5))
    return float(low), float(high)
