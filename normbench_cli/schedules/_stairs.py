"""Progress in equal steps, for schedules whose rate changes once an epoch."""

from __future__ import annotations

import math
from typing import Annotated

from normbench_cli.registry.bounds import Bounds

Stairs = Annotated[int, Bounds(least=0, most=1_000_000_000)]


def on_stairs(progress: float, stairs: int) -> float:
    """Progress rounded down to one of `stairs` equal steps; with 0 stairs, progress itself."""
    return math.floor(progress * stairs + 1e-9) / stairs if stairs else progress
