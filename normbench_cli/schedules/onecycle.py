"""The one-cycle schedule."""

from __future__ import annotations

import math

from normbench_cli.registry import SCHEDULES
from normbench_cli.registry.bounds import PartialShare, Share
from normbench_cli.schedules.cosine import cosine


@SCHEDULES.register("onecycle")
def onecycle(progress: float, warmup: PartialShare = 0.3, start: Share = 0.04) -> float:
    """A cosine up to the full rate during the warm-up, then a cosine down to zero.

    warmup: the fraction of the training that warms up; start: the initial rate, as a fraction of the full one.
    """
    if progress < warmup:
        return start + (1 - start) * (1 - math.cos(math.pi * progress / warmup)) / 2
    return cosine((progress - warmup) / (1 - warmup))
