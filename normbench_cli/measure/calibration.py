"""A fixed workload in plain torch that measures the speed of a machine, independent of norms and models.

It serves as a unit of time: code that takes 12 units today took 12 yesterday, even if the machine was slower by a
third.  Changing the workload changes the unit, so measurements in it need a new name (`nightly/measurements.py`).
"""

from __future__ import annotations

import statistics

import torch

from normbench_cli.measure.timing import Work, sample_ms

SIDE = 192  # of the matrices to multiply: compute-bound
NUMBERS = 2**18  # of values to normalize: memory-bound


def calibration_work(device: torch.device) -> Work:
    """A matrix product and a normalization of a tensor: what a network with norms spends its time on."""
    generator = torch.Generator().manual_seed(0)
    a = torch.randn((SIDE, SIDE), generator=generator).to(device)
    x = torch.randn((64, NUMBERS // 64), generator=generator).to(device)

    def work() -> None:
        torch.mm(a, a)
        variance, mean = torch.var_mean(x, 1, keepdim=True)
        torch.mul(x - mean, torch.rsqrt(variance + 1e-5))

    return work


class Calibration:
    """Timings of the calibration workload, taken between other measurements."""

    def __init__(self, device: torch.device, repeats: int = 8) -> None:
        self._device = device
        self._repeats = repeats
        self._work = calibration_work(device)
        self.samples: list[float] = []
        sample_ms(self._work, device, repeats)  # the first calls are slower

    def sample(self) -> None:
        self.samples.append(sample_ms(self._work, self._device, self._repeats))

    @property
    def ms(self) -> float:
        """The median time of one call in milliseconds."""
        return statistics.median(self.samples)
