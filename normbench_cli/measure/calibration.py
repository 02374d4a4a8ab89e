"""A fixed piece of work by which the speed of a machine is known, whatever norms and models are: plain torch.

What takes 12 of its times today took 12 of them yesterday, although the machine was slower by a third.  A change of
this work would make another unit: it needs another name of what is measured in it (`nightly/measurements.py`).
"""

from __future__ import annotations

import statistics

import torch

from normbench_cli.measure.timing import Work, sample_ms

SIDE = 192  # of the matrices that are multiplied: as fast as the arithmetic units
NUMBERS = 2**18  # that are normalized: as fast as the memory


def calibration_work(device: torch.device) -> Work:
    """A matrix product, and statistics and scaling of a tensor: what a network with norms spends its time on."""
    generator = torch.Generator().manual_seed(0)
    a = torch.randn((SIDE, SIDE), generator=generator).to(device)
    x = torch.randn((64, NUMBERS // 64), generator=generator).to(device)

    def work() -> None:
        torch.mm(a, a)
        variance, mean = torch.var_mean(x, 1, keepdim=True)
        torch.mul(x - mean, torch.rsqrt(variance + 1e-5))

    return work


class Calibration:
    """Samples of the calibration's time, taken between those of something else."""

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
