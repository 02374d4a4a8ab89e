"""The time budget of a night: the least recently measured cells come first, as many as fit."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from normbench_cli.nightly.cell import NightlyCell

REMEASURE_FRACTION = 0.2  # of the budget is reserved for measuring suspects again
LONGEST = 3600.0  # seconds for a cell of unknown duration
SHORTEST_LIMIT, LIMIT_FACTOR = 120.0, 10.0  # a cell that takes ten times its usual time hangs


@dataclass
class Budget:
    """The seconds that a night may take, from now on.  None: no limit."""

    seconds: float | None = None
    clock: Callable[[], float] = time.monotonic
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()

    @property
    def left(self) -> float:
        return float("inf") if self.seconds is None else self.seconds - (self.clock() - self._began)

    @property
    def left_for_cells(self) -> float:
        """Without the part reserved for measuring suspects again."""
        return self.left - REMEASURE_FRACTION * (self.seconds or 0.0)

    def fits(self, expected: float | None) -> bool:
        """Whether there is time for a cell of this duration; for a cell of unknown duration, any time at all."""
        return self.left_for_cells > (expected or 0.0)

    def limit(self, expected: float | None, *, again: bool = False) -> float:
        """Seconds after which a cell is stopped.  A cell that was never measured gets half of what is left, so that
        others still have time if it hangs."""
        left = self.left if again else self.left_for_cells
        if expected is None:
            return max(1.0, min(LONGEST, left if self.seconds is None else left / 2))
        return max(1.0, min(left, max(SHORTEST_LIMIT, LIMIT_FACTOR * expected)))


def least_recent_first(cells: Sequence[NightlyCell], last: Mapping[str, datetime]) -> list[NightlyCell]:
    """The cells: those never measured first, then the least recently measured."""
    never = [cell for cell in cells if cell.name not in last]
    return never + sorted((cell for cell in cells if cell.name in last), key=lambda cell: last[cell.name])
