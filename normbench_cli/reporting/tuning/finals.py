"""The final runs of a contender: one value per seed, for a cross-validation the mean over its folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

NAN = float("nan")


@dataclass(frozen=True)
class Final:
    """run: for a cross-validation that of the first fold; runs: all.  status: finished if all are.  value: of the test
    metric; nan if a run has none."""

    seed: int
    run: str
    status: str
    value: float
    runs: tuple[str, ...] = ()


def finals_of(recorded: Sequence[Mapping[str, Any]], folds: int, scores: Mapping[str, float]) -> list[Final]:
    """folds: runs per seed; 1 without cross-validation.  scores: by run id."""
    by_seed: dict[int, list[Mapping[str, Any]]] = {}
    for one in recorded:
        by_seed.setdefault(int(one["seed"]), []).append(one)
    return [final_of(seed, runs, folds, scores) for seed, runs in by_seed.items()]


def final_of(seed: int, runs: Sequence[Mapping[str, Any]], folds: int, scores: Mapping[str, float]) -> Final:
    whole = len(runs) == folds and all(one["status"] == "finished" for one in runs)
    value = fmean(float(scores.get(one["run"], NAN)) for one in runs) if whole else NAN
    status = next((str(one["status"]) for one in runs if one["status"] != "finished"), "finished")
    ids = tuple(str(one["run"]) for one in runs)
    return Final(seed, ids[0], status, value, ids)
