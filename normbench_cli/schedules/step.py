"""Step decay."""

from __future__ import annotations

from normbench_cli.registry import SCHEDULES


@SCHEDULES.register("step")
def step(progress: float, at: str = "16/24", of: float = 30.0, factor: float = 0.1) -> float:
    """The rate is multiplied by a factor at each of some points of the training.

    at: the points, separated by slashes; of: the length of the training in the units of `at`, 16/24 of 30 epochs as in
    POP-Norm; factor: by which the rate is multiplied.
    """
    points = [float(point) / of for point in at.split("/")]
    return factor ** sum(progress >= point - 1e-9 for point in points)
