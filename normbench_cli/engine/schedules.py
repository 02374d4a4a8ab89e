"""Learning-rate schedules: progress from 0 to 1 -> the share of the largest learning rate."""

from __future__ import annotations

import math

from normbench_cli.registry import SCHEDULES


@SCHEDULES.register("constant")
def constant(progress: float) -> float:
    """The same rate throughout."""
    return 1.0


@SCHEDULES.register("cosine")
def cosine(progress: float, stairs: int = 0) -> float:
    """Half a cosine wave from the full rate to zero; in that many stairs, one an epoch say, or smoothly."""
    return (1 + math.cos(math.pi * on_stairs(progress, stairs))) / 2


@SCHEDULES.register("linear")
def linear(progress: float, stairs: int = 0) -> float:
    """A straight line from the full rate to zero; in that many stairs, one an epoch say, or smoothly."""
    return 1 - on_stairs(progress, stairs)


@SCHEDULES.register("step")
def step(progress: float, at: str = "16/24", of: float = 30.0, factor: float = 0.1) -> float:
    """The rate times `factor` after each of the points `at`, counted in parts of `of`: 16/24 of 30 as in POP-Norm."""
    points = [float(point) / of for point in at.split("/")]
    return factor ** sum(progress >= point - 1e-9 for point in points)


@SCHEDULES.register("onecycle")
def onecycle(progress: float, warmup: float = 0.3, start: float = 0.04) -> float:
    """Up along a cosine from `start` to the full rate during `warmup`, then down along a cosine to zero."""
    if progress < warmup:
        return start + (1 - start) * (1 - math.cos(math.pi * progress / warmup)) / 2
    return cosine((progress - warmup) / (1 - warmup))


def on_stairs(progress: float, stairs: int) -> float:
    """The last of so many equal stairs that progress has reached; without stairs, progress itself."""
    return math.floor(progress * stairs + 1e-9) / stairs if stairs else progress
