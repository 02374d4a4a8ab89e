"""Step decay."""

from __future__ import annotations

import math
from functools import lru_cache

from normbench_cli.registry import SCHEDULES
from normbench_cli.registry.bounds import Positive, Share


@SCHEDULES.register("step")
def step(progress: float, at: str = "16/24", of: Positive = 30.0, factor: Share = 0.1) -> float:
    """The rate is multiplied by a factor at each of some points of the training.

    at: the points, separated by slashes; of: the length of training in the units of `at`, by default 16/24 of 30 epochs
    as in POP-Norm; factor: by which the rate is multiplied.
    """
    return factor ** sum(progress >= point / of - 1e-9 for point in read_points(at))


@lru_cache
def read_points(at: str) -> list[float]:
    try:
        points = [float(point) for point in at.split("/")]
    except ValueError:
        points = []
    if not points or not all(math.isfinite(point) and point >= 0 for point in points):
        raise ValueError(f"at={at} is not a list of points; write them as in at=16/24")
    return points
