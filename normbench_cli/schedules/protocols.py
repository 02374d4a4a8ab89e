"""What a learning-rate schedule is: nothing has to be inherited, a plain function will do."""

from __future__ import annotations

from typing import Protocol


class Schedule(Protocol):
    """The learning rate as a fraction of the peak rate.

    A spec names a function whose first parameter is called ``progress``; the spec sets the others.
    """

    def __call__(self, progress: float, /) -> float:
        """progress: 0 at the first step of training, approaching 1 at the last."""
        ...
