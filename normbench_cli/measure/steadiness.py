"""How steady the machine is during a comparison: the calibration is timed before, between and after the rounds."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

import numpy as np
import torch

from normbench_cli.measure.calibration import calibration_work
from normbench_cli.measure.timing import Sampler, Timing, Work, sample_ms, warm_up

NOISY = 0.15  # a result is marked as noisy if the spread exceeds this fraction of the median
AT_EACH_END = 7  # samples before the first round and after the last


@dataclass
class Steadiness:
    """Timings of the calibration in milliseconds; one follows each round."""

    work: Work
    device: torch.device
    repeats: int = 1
    sampler: Sampler | None = None
    before: list[float] = field(default_factory=list)
    between: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)

    @classmethod
    def begin(cls, device: torch.device, sampler: Sampler | None = None) -> Steadiness:
        """Warm up and take the samples that come before the first round."""
        work = calibration_work(device)
        steadiness = cls(work, device, warm_up("calibration", work, device, sampler).repeats, sampler)
        steadiness.before = [steadiness.sample() for _ in range(AT_EACH_END)]
        return steadiness

    def sample(self) -> float:
        return (self.sampler or sample_ms)(self.work, self.device, self.repeats)

    def after_round(self) -> None:
        self.between.append(self.sample())

    def end(self) -> None:
        self.after = [self.sample() for _ in range(AT_EACH_END)]

    @property
    def samples(self) -> list[float]:
        """All samples in chronological order."""
        return [*self.before, *self.between, *self.after]

    @property
    def spread(self) -> float:
        """The interquartile range over the median."""
        low, middle, high = np.percentile(self.samples, (25, 50, 75))
        return float((high - low) / middle) if middle else 0.0

    @property
    def drift(self) -> float:
        """How much slower (faster if negative) the machine was after the last round than before the first."""
        first = statistics.median(self.before)
        return statistics.median(self.after) / first - 1 if first else 0.0

    @property
    def is_noisy(self) -> bool:
        return self.spread > NOISY or abs(self.drift) > NOISY


def is_noisy(steadiness: Steadiness, timing: Timing) -> bool:
    """Whether the machine or the contender itself varied too much to trust its median."""
    return steadiness.is_noisy or (timing.iqr / timing.median if timing.median else 0.0) > NOISY
