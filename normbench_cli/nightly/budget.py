"""Which cells a night measures within its time: those first that were measured longest ago, as many as fit."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from normbench_cli.nightly.cell import NightlyCell

FOR_AGAIN = 0.2  # of the budget is kept for measuring suspects again
LONGEST = 3600.0  # seconds for a cell of which no duration is known
SHORTEST_LIMIT, LIMIT_FACTOR = 120.0, 10.0  # a cell that takes ten times as long as usual hangs


@dataclass
class Budget:
    """The seconds that a night may take, from now on.  None: as many as it needs."""

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
        """Without what is kept for measuring suspects again."""
        return self.left - FOR_AGAIN * (self.seconds or 0.0)

    def fits(self, expected: float | None) -> bool:
        """Whether a cell that takes so long can be begun; of one that was never measured it is not known."""
        return self.left_for_cells > (expected or 0.0)

    def limit(self, expected: float | None, *, again: bool = False) -> float:
        """Seconds after which a cell is stopped.  A cell that was never measured gets half of what is left, so that one
        that hangs leaves the others their time."""
        left = self.left if again else self.left_for_cells
        if expected is None:
            return max(1.0, min(LONGEST, left if self.seconds is None else left / 2))
        return max(1.0, min(left, max(SHORTEST_LIMIT, LIMIT_FACTOR * expected)))


def in_turn(cells: Sequence[NightlyCell], last: Mapping[str, datetime]) -> list[NightlyCell]:
    """The cells, those first that were never measured, then by when they were measured last."""
    never = [cell for cell in cells if cell.name not in last]
    return never + sorted((cell for cell in cells if cell.name in last), key=lambda cell: last[cell.name])
