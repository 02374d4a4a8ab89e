"""Linear decay."""

from __future__ import annotations

from normbench_cli.registry import SCHEDULES
from normbench_cli.schedules._stairs import Stairs, on_stairs


@SCHEDULES.register("linear")
def linear(progress: float, stairs: Stairs = 0) -> float:
    """A straight line from the full rate to zero.

    stairs: the number of equal steps in which the rate falls, such as the number of epochs; 0: smoothly.
    """
    return 1 - on_stairs(progress, stairs)
