"""An ongoing regression: on trial at first, measured again every night, until it is settled or withdrawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from normbench_cli.nightly.gate.band import Band, median
from normbench_cli.nightly.gate.evidence import Night, deviations, is_certain, is_open, support
from normbench_cli.nightly.gate.policy import (
    CERTAIN,
    CERTAIN_DEVIATIONS,
    FIRST_REMEASUREMENTS,
    MEDIAN_VARIANCE,
    NIGHTS_IN_A_ROW,
    SETTLED,
    TYPICAL_REPETITIONS,
    WINDOW,
)


@dataclass
class Raised:
    """nights: of the raised level.  support: the log-likelihood ratio for it.  against: the latest consecutive nights
    that favor the expected level.  worse: the latest consecutive nights above the band of the raised level."""

    nights: list[Night]
    support: float
    settled: bool = False
    against: list[Night] = field(default_factory=list)
    worse: list[Night] = field(default_factory=list)

    @classmethod
    def begun(cls, nights: Sequence[Night], band: Band) -> Raised:
        _, in_deviations = deviations(nights, band, 1)
        far = max(in_deviations, CERTAIN_DEVIATIONS)
        seen = min(SETTLED, far * far / 2)
        return cls(list(nights), seen, settled=seen >= SETTLED)

    @property
    def start(self) -> int:
        return self.nights[0].index

    @property
    def level(self) -> float:
        return median([night.estimate for night in self.nights[-WINDOW:]])

    def wants(self, value: float, again: Sequence[float], night: Night, band: Band) -> bool:
        """Whether the night must be measured again.  night: what is known of it so far."""
        level = self.level
        if self.settled and value > (here := self._band(band)).high:
            return is_open(night, again, here)
        if self.settled and not self.against and value >= band.expected / 2 + level / 2:
            return False
        if len(again) < FIRST_REMEASUREMENTS:
            return True
        return len(again) < TYPICAL_REPETITIONS and CERTAIN <= self.support + support(night, band, level) < SETTLED

    def add(self, night: Night, value: float, band: Band) -> None:
        """Add a night; the regression is over if its support is less than CERTAIN afterwards."""
        ratio = support(night, band, self.level)
        self.support = min(SETTLED, self.support + ratio)
        self.settled = self.settled or self.support >= SETTLED
        here = self._band(band)
        outside = self.settled and value > here.high and night.estimate > here.high
        self.worse = [*self.worse, night] if outside else []
        if ratio < 0:
            self.against.append(night)
        else:
            self.nights += [*self.against, night]
            self.against = []

    def is_over(self) -> bool:
        return self.support < CERTAIN

    def has_grown(self, band: Band) -> list[Night]:
        """The nights of a still worse level, if it is certain."""
        if not self.worse:
            return []
        old = Raised([night for night in self.nights if night.index < self.worse[0].index] or self.nights, 0.0)
        here = old._band(band)
        last = self.worse[-1]
        if len(self.worse) >= NIGHTS_IN_A_ROW or (last.repeated and is_certain([last], here, 1)):
            return self.worse if len(self.worse) >= NIGHTS_IN_A_ROW else [last]
        return []

    def _band(self, band: Band) -> Band:
        """The band around the raised level, proportionally as wide."""
        level = self.level
        if math.isinf(level) or not band.expected:
            return Band(level, 0.0 if math.isinf(level) else band.limit, band.noise, band.variance, band.smallest)
        scale = max(1.0, abs(level / band.expected))
        chance = scale * band.noise
        variance = MEDIAN_VARIANCE * chance * chance / len(self.nights[-WINDOW:])
        return Band(level, scale * band.limit, chance, variance, scale * band.smallest)
