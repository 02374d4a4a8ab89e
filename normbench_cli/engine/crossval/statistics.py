"""What is said about a cross-validation: curves averaged over folds, and accuracy at three choices of the epoch.

    curve_best      A: the epoch at which the mean over folds is highest, the same for all folds
    best_per_fold   B: every fold at its own best epoch
    last            C: the last epoch

A and B choose by the score they report, so they are optimistic.  Standard deviations are over folds: `sd0` divides by
the number of folds (as the papers' code does), `sd1` by one less.
"""

from __future__ import annotations

import math
import re
import statistics as plain
from collections.abc import Mapping, Sequence

SPLITS = ("train", "validation")
OF_FOLD = r"(.+)@fold(\d+)"
CURVES = tuple(f"{split}/{name}" for split in SPLITS for name in ("loss", "accuracy"))
Curves = Mapping[str, Sequence[float]]  # by the names above: a value an epoch


def mean_curves(folds: Sequence[Curves]) -> list[dict[str, float]]:
    """For every epoch: the mean over folds of each curve, and how far accuracy scatters."""
    epochs = []
    for epoch in range(len(folds[0][CURVES[0]])):
        metrics = {name: plain.fmean(fold[name][epoch] for fold in folds) for name in CURVES}
        for split in SPLITS:
            metrics |= spread(f"{split}/accuracy", "", [fold[f"{split}/accuracy"][epoch] for fold in folds])
        epochs.append(metrics)
    return epochs


def summary(folds: Sequence[Curves]) -> dict[str, float]:
    """A, B and C for training and validation."""
    metrics: dict[str, float] = {}
    for split in SPLITS:
        name = f"{split}/accuracy"
        curves = [fold[name] for fold in folds]
        means = [round(plain.fmean(values), 6) for values in zip(*curves, strict=True)]  # so that equal ones are equal
        best = means.index(max(means))
        chosen = {
            "@curve_best": [curve[best] for curve in curves],
            "@best_per_fold": [max(curve) for curve in curves],
            "@last": [curve[-1] for curve in curves],
        }
        for condition, values in chosen.items():
            metrics[name + condition] = plain.fmean(values)
            metrics |= spread(name, condition, values)
        metrics[f"{split}/epoch@curve_best"] = best + 1
    return metrics


def spread(name: str, condition: str, values: Sequence[float]) -> dict[str, float]:
    sd0 = plain.pstdev(values)
    sd1 = sd0 * math.sqrt(len(values) / (len(values) - 1))
    return {f"{name}_sd0{condition}": sd0, f"{name}_sd1{condition}": sd1}


def of_fold(name: str, fold: int) -> str:
    """A curve of one fold, as it is recorded: validation/accuracy@fold3."""
    return f"{name}@fold{fold}"


def finished_folds(
    series: Mapping[str, Sequence[float]], epochs: int, metrics: Mapping[str, float] | None = None
) -> dict[int, Curves]:
    """Recorded series by name -> the folds of which every curve is there in full.  What their solvers did, which is a
    value a fold and so a metric, comes along as a curve of one value."""
    folds: dict[int, dict[str, Sequence[float]]] = {}
    for full, values in series.items():
        if (match := re.fullmatch(OF_FOLD, full)) and match[1] in CURVES and len(values) == epochs:
            folds.setdefault(int(match[2]), {})[match[1]] = values
    finished = {fold: curves for fold, curves in sorted(folds.items()) if len(curves) == len(CURVES)}
    for full, value in (metrics or {}).items():
        if (match := re.fullmatch(OF_FOLD, full)) and match[1] not in CURVES and int(match[2]) in finished:
            finished[int(match[2])][match[1]] = [value]
    return dict(finished)
