"""A noisy measurement tracked night by night: its reference level, and the nights that indicate another one.

Values are oriented so that more is worse, and a non-finite value becomes infinity: worse than any other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from normbench_cli.nightly.gate.band import Band, band_of, median
from normbench_cli.nightly.gate.evidence import Night, is_certain, is_open, night_of, side_of, spread_of
from normbench_cli.nightly.gate.policy import (
    CREEP,
    CREEP_NIGHTS,
    FEWEST_NIGHTS,
    NIGHTS_IN_A_ROW,
    NIGHTS_TOGETHER,
    WINDOW,
    Policy,
)
from normbench_cli.nightly.gate.raised import Raised
from normbench_cli.nightly.gate.verdict import Verdict


@dataclass
class Track:
    """reference: the nights in the band.  It stops growing while there is a regression, so that a regression never
    becomes the new normal by itself.  residuals: of earlier levels.  spreads: within the nights that were measured
    again.  outside, in_part: by direction (1 worse, -1 better), the consecutive nights outside, and the last ones that
    count in part."""

    policy: Policy
    reference: list[Night] = field(default_factory=list)
    raised: Raised | None = None
    residuals: list[float] = field(default_factory=list)
    spreads: list[float] = field(default_factory=list)
    outside: dict[int, list[Night]] = field(default_factory=lambda: {1: [], -1: []})
    in_part: dict[int, list[Night]] = field(default_factory=lambda: {1: [], -1: []})
    crept: bool = False
    count: int = 0
    _band: tuple[int, Band] | None = None  # night number, its band

    def band(self) -> Band:
        """The band that the next night is compared with."""
        if self._band is None or self._band[0] != self.count:
            last = self.reference[-WINDOW:]
            estimates = [(night.estimate, night.weight) for night in last]
            self._band = self.count, band_of([night.value for night in last], self.policy, self.residuals, estimates)
        return self._band[1]

    def wants(self, value: float, again: Sequence[float], noise: float = 1.0) -> bool:
        """Whether the night must be measured again.  noise: of the whole night, as a multiple of the usual."""
        if not self.reference or self._too_short(value):
            return False
        band = self.band()
        if self.raised:
            return self.raised.wants(value, again, self._night(value, again, noise), band)
        return self._is_candidate(value, band, noise) and is_open(self._night(value, again, noise), again, band)

    def _too_short(self, value: float) -> bool:
        return len(self.reference) + len(self.residuals) < FEWEST_NIGHTS and not math.isinf(value)

    def _night(self, value: float, again: Sequence[float], noise: float) -> Night:
        return night_of(self.count, value, again, self.band().noise, self.spreads, noise)

    def _is_candidate(self, value: float, band: Band, noise: float) -> bool:
        """Whether a value lies outside, or follows a night that counts in part; noise lowers the upper limit."""
        near = any(nights and self.count - nights[-1].index < NIGHTS_TOGETHER for nights in self.in_part.values())
        return near or not band.low <= value <= band.high - (noise - 1) * band.noise

    def add(self, value: float, again: Sequence[float], noise: float = 1.0) -> Verdict:
        """Add a night's value and repetitions; return the verdict."""
        if not self.reference:
            self.reference.append(Night(self.count, value, median([value, *again]), 0.0, repeated=False))
            self.count += 1
            return Verdict("new baseline")
        band, night, short = self.band(), self._night(value, again, noise), self._too_short(value)
        if (spread := spread_of(again)) is not None:
            self.spreads = [*self.spreads, spread / noise][-WINDOW:]
        looked_at = self._is_candidate(value, band, noise)  # others were measured again only as controls
        self.count += 1
        if self.raised:
            return self._add_to_raised(self.raised, night, value, band)
        if short:
            self.reference.append(night)
            return Verdict("too short", band)
        direction = side_of(night, band) if looked_at and night.repeated else (value > band.high) - (value < band.low)
        confirmed = self._confirmed(night, band, direction)
        if confirmed:
            return self._change(confirmed, night, band, direction)
        return self._stay(night, band, direction)

    def _confirmed(self, night: Night, band: Band, direction: int) -> list[Night]:
        """The nights of a confirmed change.  direction: 0 if the night lies inside after all."""
        for side, row in self.outside.items():
            self.outside[side] = [*row, night] if side == direction else []
        if not direction:
            return []
        if len(self.outside[direction]) >= NIGHTS_IN_A_ROW:
            return self.outside[direction]
        if not night.repeated:
            return []
        early = [one for one in self.in_part[direction] if night.index - one.index < NIGHTS_TOGETHER]
        self.in_part[direction] = together = [*early, night]
        if is_certain(together, band, direction):
            return together
        return [night] if is_certain([night], band, direction) else []

    def _change(self, nights: list[Night], night: Night, band: Band, direction: int) -> Verdict:
        self._forget()
        start = nights[0].index
        nights = [one for one in self.reference if one.index >= start and one not in nights] + nights
        nights.sort(key=lambda one: one.index)
        if direction > 0:
            self.reference = [one for one in self.reference if one.index < start] or self.reference
            self.raised = Raised.begun(nights, band)
            return Verdict("regression", band, night.estimate, start, changed=True)
        self._start_anew(band, nights)
        return Verdict("improvement", band, night.estimate, start, changed=True)

    def _forget(self) -> None:
        self.outside, self.in_part, self.crept = {1: [], -1: []}, {1: [], -1: []}, False

    def _add_to_raised(self, raised: Raised, night: Night, value: float, band: Band) -> Verdict:
        raised.add(night, value, band)
        if raised.is_over():
            return self._over(raised, night, band)
        if grown := raised.has_grown(band):
            self.raised = Raised.begun(grown, band)
            return Verdict("regression", band, night.estimate, grown[0].index, changed=True)
        unsure = bool(raised.against or raised.worse)
        return Verdict("regression", band, night.estimate, raised.start, known=True, unsure=unsure)

    def _over(self, raised: Raised, night: Night, band: Band) -> Verdict:
        """End a raised level: it became partly better, went back, became better than before, or never was."""
        nights, start = raised.against, raised.against[0].index
        self._forget()
        if is_certain(nights, band, 1):
            self.raised = Raised.begun(nights, band)
            return Verdict("regression", band, night.estimate, start, known=True, changed=True)
        self.raised = None
        if is_certain(nights, band, -1):
            self._start_anew(band, nights)
            return Verdict("improvement", band, night.estimate, start, changed=True)
        if raised.settled:
            self.reference += nights
            return Verdict("improvement", band, night.estimate, start, changed=True, back=True)
        self.reference += raised.nights + nights
        return Verdict("withdrawn", band, night.estimate, raised.start, known=True)

    def _start_anew(self, band: Band, nights: list[Night]) -> None:
        """Make the nights of the better level the reference; keep the noise seen before."""
        level = median([night.estimate for night in nights])
        scale = abs(level / band.expected) if self.policy.relative and band.expected else 1.0
        if math.isfinite(band.expected):
            old = [(night.value - band.expected) * scale for night in self.reference if night not in nights]
            self.residuals = (self.residuals + old)[-WINDOW:]
        self.reference = nights

    def _stay(self, night: Night, band: Band, direction: int) -> Verdict:
        self.reference.append(night)
        if direction:
            return Verdict("suspected", band, night.estimate, direction=direction)
        known, self.crept = self.crept, self._creeps()
        if self.crept:
            return Verdict("regression", band, night.estimate, known=known, creep=self._drift())
        return Verdict("fine", band, night.estimate, refuted=night.repeated)

    def _drift(self) -> float:
        first, last = self.reference[:CREEP_NIGHTS], self.reference[-CREEP_NIGHTS:]
        return median([night.estimate for night in last]) - median([night.estimate for night in first])

    def _creeps(self) -> bool:
        if len(self.reference) < 2 * CREEP_NIGHTS:
            return False
        return self._drift() > CREEP * max(self.policy.smallest(self.reference[0].estimate), self.band().noise)
