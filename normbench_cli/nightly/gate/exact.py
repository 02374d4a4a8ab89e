"""A measurement that repeats to the last digit, tracked night by night: any difference counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from normbench_cli.nightly.gate.band import Band
from normbench_cli.nightly.gate.policy import Policy
from normbench_cli.nightly.gate.verdict import Verdict


@dataclass
class ExactTrack:
    """reference: the first value, or the best one since; it never moves to a worse one.  raised: the present value
    while it is worse; pending: of a night that could not be measured again.  Oriented as in Track."""

    policy: Policy
    reference: float | None = None
    raised: float | None = None
    pending: float | None = None
    start: int = 0
    nonreproducible: bool = False
    count: int = 0

    def _same(self, one: float, other: float | None) -> bool:
        if other is None:
            return False
        return one == other or abs(one - other) <= self.policy.smallest(other if math.isfinite(other) else 0.0)

    def wants(self, value: float, again: Sequence[float], noise: float = 1.0) -> bool:
        """Whether the night must be measured again: once is enough.  noise: as in Track."""
        expected = self.reference if self.raised is None else self.raised
        return not again and expected is not None and not self._same(value, expected)

    def add(self, value: float, again: Sequence[float], noise: float = 1.0) -> Verdict:
        """Add a night's value and repetitions; return the verdict."""
        index, self.count = self.count, self.count + 1
        if self.reference is None:
            self.reference = value
            return Verdict("new baseline")
        limit = self.policy.smallest(self.reference) if math.isfinite(self.reference) else 0.0
        band = Band(self.reference, limit, 0.0)
        was_nonreproducible, self.nonreproducible = (
            self.nonreproducible,
            any(not self._same(repeated, value) for repeated in again),
        )
        if self.nonreproducible:
            return Verdict("regression", band, value, index, known=was_nonreproducible, nonreproducible=True)
        if self.wants(value, again) and not self._same(value, self.pending):
            self.pending = value
            direction = 1 if value > self.reference else -1
            return self._unsettled(band, value, direction)
        start = index - 1 if self.pending is not None else index
        self.pending = None
        return self._settled(band, value, start)

    def _unsettled(self, band: Band, value: float, direction: int) -> Verdict:
        if self.raised is None:
            return Verdict("suspected", band, value, direction=direction)
        return Verdict("regression", band, value, self.start, known=True, unsure=True)

    def _settled(self, band: Band, value: float, start: int) -> Verdict:
        was, self.raised = self.raised, None
        if self._same(value, self.reference):
            if was is None:
                return Verdict("fine", band, value)
            return Verdict("improvement", band, value, start, changed=True, back=True)
        if value < band.expected:
            self.reference = value
            return Verdict("improvement", band, value, start, changed=True)
        known = was is not None and (value <= was or self._same(value, was))
        self.start = self.start if known else start
        self.raised = value
        return Verdict("regression", band, value, self.start, known=known, changed=not known)
