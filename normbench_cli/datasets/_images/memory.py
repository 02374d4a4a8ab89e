"""Image data sets that fit in memory: uint8 splits on the device, augmented there for a whole batch at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from normbench_cli.datasets._images.batches import ImageBatch, ImageBatches, Standardize
from normbench_cli.datasets._images.crops import Augment
from normbench_cli.datasets._images.held_out import held_out

PAD = 4  # pixels on each side, and so the largest shift


@dataclass(frozen=True)
class Split:
    """Images with their labels and the groups that each belongs to."""

    images: Tensor  # uint8 (N, C, H, W)
    labels: Tensor  # int64 (N,)
    groups: Tensor | None = None  # bool (N, groups); groups may overlap

    def __len__(self) -> int:
        return len(self.labels)

    def part(self, chosen: Tensor) -> Split:
        return Split(self.images[chosen], self.labels[chosen], None if self.groups is None else self.groups[chosen])


@dataclass(frozen=True)
class InMemoryImages:
    """An image data set held in memory.

    mean, std: of each channel, for pixels in 0-1.
    augment: training augmentation: none, random mirroring, or also random shifts of up to four pixels.
    """

    train: Split
    test: Split
    classes: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    group_names: tuple[str, ...] = ()
    validation: Split | None = None  # only for selecting an epoch
    augment: Augment = "none"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one input: channels, height, width."""
        return tuple(self.train.images.shape[1:])

    @property
    def channels(self) -> int:
        return self.shape[0]

    def hold_out(self, fraction: float, seed: int) -> InMemoryImages:
        """The data set with a part of the training set as validation set.  Mean and std stay those of both together."""
        kept, held = held_out(self.train.labels, fraction, seed)
        return replace(self, train=self.train.part(kept), validation=self.train.part(held))

    def batches(
        self,
        split: Split,
        batch_size: int,
        device: torch.device,
        *,
        shuffle_seed: int | None = None,
        channels_last: bool = False,
        workers: int = 0,
        pin_memory: bool = True,
    ) -> InMemoryBatches:
        """Batches of a split, shuffled and augmented if there is a seed.  Nothing is read or copied, so workers and
        pinned memory are not used."""
        return InMemoryBatches(self, split, batch_size, device, shuffle_seed, channels_last)


class InMemoryBatches(ImageBatches):
    """Batches of a split that is kept on the device."""

    def __init__(
        self,
        data: InMemoryImages,
        split: Split,
        batch_size: int,
        device: torch.device,
        shuffle_seed: int | None = None,
        channels_last: bool = False,
    ) -> None:
        standardize = Standardize(data.mean, data.std, device)
        super().__init__(len(split), batch_size, device, standardize, shuffle_seed, channels_last)
        self._labels = split.labels.to(device)
        self._groups = None if split.groups is None else split.groups.to(device)
        self._augment: Augment = data.augment if self._training else "none"
        self._height, self._width = split.images.shape[2:]
        pad = PAD if self._augment == "crop_flip" else 0
        # (N, H, W, C), so that the channels of a pixel are gathered together
        self._images = F.pad(split.images, (pad, pad, pad, pad)).permute(0, 2, 3, 1).contiguous().to(device)

    def epoch(self, number: int = 0, first: int = 0) -> Iterator[ImageBatch]:
        """Yield the batches of an epoch, from index `first` on."""
        order, moves = self._draw_order_and_moves(number)
        for start in range(first * self.batch_size, self.examples, self.batch_size):
            stop = min(start + self.batch_size, self.examples)
            chosen = slice(start, stop) if order is None else order[start:stop]
            images = self._gather(chosen, None if moves is None else moves[start:stop])
            groups = None if self._groups is None else self._groups[chosen]
            yield ImageBatch(self._to_inputs(images.permute(0, 3, 1, 2)), self._labels[chosen], groups)

    def _draw_order_and_moves(self, epoch: int) -> tuple[Tensor | None, Tensor | None]:
        """Draw the order of a training epoch (N,), and for each image in it its moves (N, 3): the offsets down and
        right into the padded image, and 1 for mirroring."""
        if not self._training:
            return None, None
        generator = torch.Generator().manual_seed(self._epoch_seed(epoch))
        order = torch.randperm(len(self._labels), generator=generator).to(self._device)
        if self._augment == "none":
            return order, None
        offsets = 2 * PAD + 1 if self._augment == "crop_flip" else 1
        shifts = torch.randint(0, offsets, (len(order), 2), generator=generator)
        mirrors = torch.randint(0, 2, (len(order), 1), generator=generator)
        return order, torch.cat([shifts, mirrors], 1).to(self._device)

    def _gather(self, chosen: Tensor | slice, moves: Tensor | None) -> Tensor:
        """Gather the chosen images (N, H, W, C), each with its own moves, in one operation.

        Output row r is padded row down + r; output column c is padded column right + c, or right + width - 1 - c in a
        mirrored image.  At width 3 and right = 2, the columns 2 3 4 are read, or 4 3 2.
        """
        if moves is None or isinstance(chosen, slice):
            return self._images[chosen]
        down, right, mirror = moves.unsqueeze(2).unbind(1)
        rows = down + torch.arange(self._height, device=down.device)
        columns = torch.arange(self._width, device=down.device)
        columns = right + torch.where(mirror == 1, self._width - 1 - columns, columns)
        return self._images[chosen[:, None, None], rows[:, :, None], columns[:, None, :]]
