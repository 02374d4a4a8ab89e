"""Gaussian noise on the inputs."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from normbench_cli.attacks._input_space import InputSpace
from normbench_cli.registry import ATTACKS
from normbench_cli.registry.bounds import NotNegative, Seed


@ATTACKS.register("gaussian", paper="Galloway et al. 2019")
class Gaussian(nn.Module):
    """Gaussian noise added to every input value: x + sigma n.

    The defaults are those of Galloway et al.'s code: sigma = 1/4 in normalized space (about 12.8/255 in CIFAR-10's
    pixels), without clipping.  An instance draws from one stream, so a new one with the same seed repeats its noise on
    the same kind of device.

    sigma: standard deviation of the noise; space: normalized, or pixel (0-1); clip: none, data_range (what pixels in
    0-1 become) or galloway ([-2, 2]); seed: of the noise; mean, std: of the data's standardization, set by the program.
    """

    def __init__(
        self,
        sigma: NotNegative = 0.25,
        space: Literal["normalized", "pixel"] = "normalized",
        clip: Literal["none", "data_range", "galloway"] = "none",
        seed: Seed = 0,
        mean: tuple[float, ...] | None = None,
        std: tuple[float, ...] | None = None,
    ) -> None:
        super().__init__()
        self.sigma = sigma
        self.seed = seed
        self.space = InputSpace(space, clip, mean, std)
        self._generator: torch.Generator | None = None

    @torch.no_grad()
    def forward(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        if self._generator is None or self._generator.device != x.device:
            self._generator = torch.Generator(x.device).manual_seed(self.seed)
        noise = torch.empty_like(x).normal_(generator=self._generator)
        return self.space.clip(x + noise * self.space.to_input_units(self.sigma, x), clean=x)

    def clip_only(self, x: Tensor) -> Tensor:
        """Clean inputs, clipped as this attack clips its result."""
        return self.space.clip(x)
