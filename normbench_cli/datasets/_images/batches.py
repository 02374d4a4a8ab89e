"""The base of all batches of images, in memory or streamed from files."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from normbench_cli.seeds import derive


class ImageBatch(NamedTuple):
    """Standardized images with their labels and, if the data set has groups, the groups of each."""

    inputs: Tensor  # float32 (N, C, H, W)
    labels: Tensor  # int64 (N,)
    groups: Tensor | None = None  # bool (N, groups)


class Standardize:
    """uint8 pixels -> (x / 255 - mean) / std per channel, on the device."""

    def __init__(self, mean: tuple[float, ...], std: tuple[float, ...], device: torch.device) -> None:
        sd = torch.tensor(std)
        self._scale = (1 / (255 * sd)).to(device).view(-1, 1, 1)
        self._shift = (-torch.tensor(mean) / sd).to(device).view(-1, 1, 1)

    def __call__(self, images: Tensor) -> Tensor:
        return torch.addcmul(self._shift, images, self._scale)


class ImageBatches:
    """Batches of one split: for training if there is a shuffle seed, otherwise for evaluation.

    Training drops a last batch of a single image, which has no batch statistics.
    """

    def __init__(
        self,
        split_size: int,
        batch_size: int,
        device: torch.device,
        standardize: Standardize,
        shuffle_seed: int | None,
        channels_last: bool,
    ) -> None:
        self.batch_size = batch_size
        self.examples = split_size
        if shuffle_seed is not None and batch_size > 1 and split_size % batch_size == 1:
            self.examples -= 1
        self._device = device
        self._seed = shuffle_seed
        self._standardize = standardize
        self._memory_format = torch.channels_last if channels_last else torch.contiguous_format

    def __len__(self) -> int:
        return math.ceil(self.examples / self.batch_size)

    @property
    def _training(self) -> bool:
        return self._seed is not None

    def _epoch_seed(self, epoch: int) -> int:
        """The seed of a training epoch's order and augmentation."""
        assert self._seed is not None
        return derive(self._seed, "epoch", epoch)

    def _to_inputs(self, images: Tensor) -> Tensor:
        """uint8 (N, C, H, W) on the device -> standardized, in the requested memory format."""
        return self._standardize(images).contiguous(memory_format=self._memory_format)
