"""Cosine annealing."""

from __future__ import annotations

import math

from normbench_cli.registry import SCHEDULES
from normbench_cli.schedules._stairs import Stairs, on_stairs


@SCHEDULES.register("cosine")
def cosine(progress: float, stairs: Stairs = 0) -> float:
    """Half a cosine wave from the full rate to zero.

    stairs: the number of equal steps in which the rate falls, such as the number of epochs; 0: smoothly.
    """
    return (1 + math.cos(math.pi * on_stairs(progress, stairs))) / 2
