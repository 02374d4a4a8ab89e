"""A noisy measurement followed night by night: its reference level, a regression that lasts, and how either ends.

Values are oriented so that more is worse, and a value that is not a number is infinite: worse than any other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from normbench_cli.nightly.gate.band import Band, band_of, median
from normbench_cli.nightly.gate.confirm import Vote, between_nights, counts_in_part, vote
from normbench_cli.nightly.gate.policy import (
    CREEP,
    CREEP_NIGHTS,
    FAR,
    FEWEST_NIGHTS,
    NIGHTS_IN_A_ROW,
    NIGHTS_TOGETHER,
    WINDOW,
    Policy,
)
from normbench_cli.nightly.gate.verdict import Verdict

Side = tuple[int, float, float, float]  # direction, edge, its distance from what is expected, how far out is enough
AS_EXPECTED: Side = (0, 0.0, 0.0, FAR)


@dataclass(frozen=True, slots=True)
class Look:
    """One night against the present levels.  direction: 1 worse, -1 better, 0 as expected.

    watched: the value lies inside, but the night before did not.
    """

    band: Band | None
    direction: int = 0
    edge: float = 0.0
    limit: float = 0.0
    outcome: Vote = Vote.REFUTED
    watched: bool = False


@dataclass(frozen=True, slots=True)
class Night:
    index: int
    estimate: float  # the median of the night's value and its repetitions


@dataclass
class Track:
    """reference: the nights that the band is made of.  It stops growing while there is a regression, so that a
    regression never becomes the new normal by itself.  raised: the nights since then.  after an improvement the
    reference starts anew.
    """

    policy: Policy
    reference: list[Night] = field(default_factory=list)
    raised: list[Night] = field(default_factory=list)
    residuals: list[float] = field(default_factory=list)  # of earlier levels
    outside: dict[int, list[Night]] = field(default_factory=lambda: {1: [], -1: []})
    in_part: dict[int, list[Night]] = field(default_factory=lambda: {1: [], -1: []})
    crept: bool = False
    count: int = 0
    _band: tuple[int, Band] | None = None  # of the night with this number

    def band(self) -> Band:
        """What the next night is compared with."""
        if self._band is None or self._band[0] != self.count:
            self._band = self.count, self._new_band()
        return self._band[1]

    def _new_band(self) -> Band:
        return band_of([night.estimate for night in self.reference[-WINDOW:]], self.policy, self.residuals)

    def look(self, value: float, again: Sequence[float]) -> Look:
        if not self.reference:
            return Look(None)
        band = self.band()
        if len(self.reference) + len(self.residuals) < FEWEST_NIGHTS and not math.isinf(value):
            return Look(band)
        side = self._raised_side(band, value) if self.raised else _side(band, value)
        direction, edge, limit, far = side if side[0] else self._watched(band)
        outcome = vote(again, edge, direction, limit, far) if direction else Vote.REFUTED
        return Look(band, direction, edge, limit, outcome, watched=not side[0])

    def _watched(self, band: Band) -> Side:
        """A night after one that counts in part is measured again wherever its value lies."""
        for direction, nights in self.in_part.items():
            if not self.raised and any(self.count - night.index < NIGHTS_TOGETHER for night in nights):
                return direction, band.expected + direction * band.limit, band.limit, FAR
        return AS_EXPECTED

    def _raised_side(self, band: Band, value: float) -> Side:
        """During a regression a night is nearer to the reference, or at the raised level, or worse still."""
        level = median([night.estimate for night in self.raised[-WINDOW:]])
        middle = band.expected / 2 + level / 2
        if value < middle:
            return -1, middle, level - middle if math.isfinite(level) else 0.0, 1.0
        limit = band.limit * max(1.0, abs(level / band.expected)) if band.expected and math.isfinite(level) else 0.0
        if value > level + limit:
            return 1, level + limit, limit, FAR
        return AS_EXPECTED

    def wants(self, value: float, again: Sequence[float]) -> bool:
        """Whether the night has to be measured again."""
        look = self.look(value, again)
        return look.direction != 0 and look.outcome is Vote.OPEN

    def add(self, value: float, again: Sequence[float]) -> Verdict:
        """Take a night's value and repetitions; what they mean."""
        look = self.look(value, again)
        if look.watched and not again:
            look = Look(look.band)
        night = Night(self.count, median([value, *again]))
        self.count += 1
        if look.band is None:
            self.reference.append(night)
            return Verdict("new baseline")
        if not look.direction and not self.raised and len(self.reference) + len(self.residuals) < FEWEST_NIGHTS:
            self.reference.append(night)
            return Verdict("too short", look.band)
        start = self._confirmed(look, night, again)
        if start is not None:
            return self._change(look, night, start)
        return self._stay(look, night)

    def _confirmed(self, look: Look, night: Night, again: Sequence[float]) -> int | None:
        """The first night that belongs to a confirmed change, or None."""
        for direction in (1, -1):
            if direction != look.direction or look.outcome is Vote.REFUTED:
                self.outside[direction].clear()
        if not look.direction or look.outcome is Vote.REFUTED or look.band is None:
            return None
        row, in_part = self.outside[look.direction], self.in_part[look.direction]
        row.append(night)
        if len(row) >= NIGHTS_IN_A_ROW:
            return row[0].index
        if not counts_in_part(look.outcome, again, look.edge, look.direction):
            return None
        in_part[:] = [*(early for early in in_part if night.index - early.index < NIGHTS_TOGETHER), night]
        if look.outcome is not Vote.CONFIRMED and len(in_part) == 1:
            return None
        level = look.edge - look.direction * look.limit
        off = sum(abs(early.estimate - level) for early in in_part) / len(in_part)
        chance = between_nights(again, look.band.noise) / math.sqrt(len(in_part))
        return in_part[0].index if off > chance else None

    def _change(self, look: Look, night: Night, start: int) -> Verdict:
        band = look.band
        assert band is not None
        nights = [early for early in (self.raised or self.reference) if early.index >= start] + [night]
        was_raised = bool(self.raised)
        self.outside, self.in_part, self.crept = {1: [], -1: []}, {1: [], -1: []}, False
        level = median([early.estimate for early in nights])
        if level > band.high:
            if not was_raised:
                self.reference = [early for early in self.reference if early.index < start] or self.reference
            self.raised = nights
            return Verdict("regression", band, night.estimate, start, known=look.direction < 0, changed=True)
        self.raised = []
        if level < band.low:
            self._start_anew(band, nights)
            return Verdict("improvement", band, night.estimate, start, changed=True)
        self.reference += nights
        return Verdict("improvement", band, night.estimate, start, changed=True, back=True)

    def _start_anew(self, band: Band, nights: list[Night]) -> None:
        """The nights of the better level become the reference; the noise seen before is still known."""
        level = median([night.estimate for night in nights])
        scale = abs(level / band.expected) if self.policy.relative and band.expected else 1.0
        if math.isfinite(band.expected):
            old = [(night.estimate - band.expected) * scale for night in self.reference if night not in nights]
            self.residuals = (self.residuals + old)[-WINDOW:]
        self.reference = nights

    def _stay(self, look: Look, night: Night) -> Verdict:
        band = look.band
        open_ = look.direction != 0 and look.outcome is not Vote.REFUTED
        if self.raised:
            self.raised.append(night)
            return Verdict("regression", band, night.estimate, self.raised[0].index, known=True, unsure=open_)
        self.reference.append(night)
        if open_:
            return Verdict("suspected", band, night.estimate, direction=look.direction)
        known, self.crept = self.crept, self._creeps()
        if self.crept:
            return Verdict("regression", band, night.estimate, known=known, creep=self._drift())
        return Verdict("fine", band, night.estimate, refuted=look.direction != 0)

    def _drift(self) -> float:
        first, last = self.reference[:CREEP_NIGHTS], self.reference[-CREEP_NIGHTS:]
        return median([night.estimate for night in last]) - median([night.estimate for night in first])

    def _creeps(self) -> bool:
        if len(self.reference) < 2 * CREEP_NIGHTS:
            return False
        return self._drift() > CREEP * max(self.policy.smallest(self.reference[0].estimate), self.band().noise)


def _side(band: Band, value: float) -> Side:
    if value > band.high:
        return 1, band.high, band.limit, FAR
    if value < band.low:
        return -1, band.low, band.limit, FAR
    return AS_EXPECTED
