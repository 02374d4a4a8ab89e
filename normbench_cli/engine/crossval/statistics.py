"""Statistics over the folds: mean curves, and the accuracy at three choices of the epoch.

    curve_best      A: the epoch in which the mean over folds is highest, the same for all folds
    best_per_fold   B: the best epoch of each fold
    last            C: the last epoch

A and B select by the score that they report, so they are optimistic.  Standard deviations are over folds: `sd0` divides
by the number of folds (as the papers' code does), `sd1` by one less.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, pstdev

SPLITS = ("train", "validation")  # scored after every epoch
TEST = "test/accuracy"  # of the fold's own graphs, scored once


def curves_of(*splits: str) -> tuple[str, ...]:
    """Names of the per-epoch metrics if these splits are scored."""
    return tuple(f"{split}/{name}" for split in splits for name in ("loss", "accuracy"))


CURVES = curves_of(*SPLITS)
FOLD_METRIC = re.compile(r"(.+)@fold(\d+)")
Curves = Mapping[str, Sequence[float]]  # for each of CURVES one value per epoch; for a metric of layers a single value

# Metrics of layers are averaged over the folds, except for these.
EXTREMES: dict[str, Callable[[list[float]], float]] = {
    "solver/iterations_max": max,
    "solver/residual": max,
    "solver/error_bound": max,
    "phi/max": max,
    "phi/min": min,
}


def mean_curves(folds: Sequence[Curves]) -> list[dict[str, float]]:
    """For each epoch, the mean over folds of each curve and the standard deviations of accuracy."""
    epochs = []
    for epoch in range(len(folds[0][CURVES[0]])):
        metrics = {name: fmean(fold[name][epoch] for fold in folds) for name in CURVES if name in folds[0]}
        for split in splits_of(folds):
            metrics |= standard_deviations(f"{split}/accuracy", "", [f[f"{split}/accuracy"][epoch] for f in folds])
        epochs.append(metrics)
    return epochs


def splits_of(folds: Sequence[Curves]) -> list[str]:
    """Splits that were scored after every epoch."""
    return [split for split in SPLITS if f"{split}/accuracy" in folds[0]]


def summary(folds: Sequence[Curves]) -> dict[str, float]:
    """A, B and C for training and validation, the metrics of layers over all folds, and the test if there was one."""
    metrics: dict[str, float] = {}
    if TEST in folds[0]:
        metrics |= standard_deviations(TEST, "", [fold[TEST][-1] for fold in folds])
    for split in splits_of(folds):
        name = f"{split}/accuracy"
        curves = [fold[name] for fold in folds]
        means = [round(fmean(values), 6) for values in zip(*curves, strict=True)]  # so that ties compare equal
        best = means.index(max(means))
        chosen = {
            "@curve_best": [curve[best] for curve in curves],
            "@best_per_fold": [max(curve) for curve in curves],
            "@last": [curve[-1] for curve in curves],
        }
        for condition, values in chosen.items():
            metrics[name + condition] = fmean(values)
            metrics |= standard_deviations(name, condition, values)
        metrics[f"{split}/epoch@curve_best"] = best + 1
    return metrics | layer_metrics(folds)


def standard_deviations(name: str, condition: str, values: Sequence[float]) -> dict[str, float]:
    """Both standard deviations over the folds; empty for a single fold."""
    if len(values) < 2:
        return {}
    sd0 = pstdev(values)
    sd1 = sd0 * math.sqrt(len(values) / (len(values) - 1))
    return {f"{name}_sd0{condition}": sd0, f"{name}_sd1{condition}": sd1}


def layer_metrics(folds: Sequence[Curves]) -> dict[str, float]:
    """Metrics of solvers, phi and the test over all folds: means of means, maxima of maxima, minima of minima."""
    values: dict[str, list[float]] = {}
    for fold in folds:
        for name in fold.keys() - set(CURVES):
            values.setdefault(name, []).append(fold[name][-1])
    return {name: EXTREMES.get(name, fmean)(of_folds) for name, of_folds in sorted(values.items())}


def fold_metric(name: str, fold: int) -> str:
    """The name under which a metric of one fold is recorded: validation/accuracy@fold3."""
    return f"{name}@fold{fold}"


def finished_folds(
    series: Mapping[str, Sequence[float]],
    epochs: int,
    metrics: Mapping[str, float] | None = None,
    curves: Sequence[str] = CURVES,
) -> dict[int, Curves]:
    """Return the folds whose curves are all recorded in full, from the recorded series by name.  Metrics of a fold's
    layers become curves of a single value.

    curves: names of the curves of a fold."""
    folds: dict[int, dict[str, Sequence[float]]] = {}
    for full, values in series.items():
        if (match := FOLD_METRIC.fullmatch(full)) and match[1] in CURVES and len(values) == epochs:
            folds.setdefault(int(match[2]), {})[match[1]] = values
    finished = {fold: found for fold, found in sorted(folds.items()) if len(found) == len(curves)}
    for full, value in (metrics or {}).items():
        if (match := FOLD_METRIC.fullmatch(full)) and match[1] not in CURVES and int(match[2]) in finished:
            finished[int(match[2])][match[1]] = [value]
    return dict(finished)
