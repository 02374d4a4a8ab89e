"""Image data sets in memory: order, shifts and flips of training batches, and the unchanged batches of evaluation."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from normbench_cli.datasets._images.batches import Standardize
from normbench_cli.datasets._images.crops import Augment
from normbench_cli.datasets._images.memory import PAD, InMemoryBatches, InMemoryImages, Split

CPU = torch.device("cpu")
IMAGES = torch.randint(1, 256, (13, 3, 6, 7), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
SPLIT = Split(IMAGES, torch.arange(13))


def batches(augment: Augment = "none", seed: int | None = 5, size: int = 4) -> InMemoryBatches:
    data = InMemoryImages(SPLIT, SPLIT, 13, (0.4, 0.5, 0.6), (0.2, 0.3, 0.25), augment=augment)
    return data.batches(SPLIT, size, CPU, shuffle_seed=seed)


def views(image: Tensor, augment: Augment) -> list[Tensor]:
    """All that training can make of an image, standardized."""
    pad = PAD if augment == "crop_flip" else 0
    padded = torch.nn.functional.pad(image, (pad, pad, pad, pad))
    crops = [padded[:, y : y + 6, x : x + 7] for y in range(2 * pad + 1) for x in range(2 * pad + 1)]
    flips = crops if augment == "none" else [*crops, *(crop.flip(2) for crop in crops)]
    standardize = Standardize((0.4, 0.5, 0.6), (0.2, 0.3, 0.25), CPU)
    return [standardize(view) for view in flips]


@pytest.mark.parametrize("augment", ["none", "flip", "crop_flip"])
def test_a_training_image_is_a_shift_or_flip_of_its_own(augment: Augment) -> None:
    for batch in batches(augment).epoch(3):
        for inputs, label in zip(batch.inputs, batch.labels.tolist(), strict=True):
            assert any(torch.equal(inputs, view) for view in views(IMAGES[label], augment))


def test_a_last_batch_of_one_image_is_left_out_in_training_only() -> None:
    made, labels = batches(), torch.cat([batch.labels for batch in batches().epoch()])
    assert (len(made), made.examples, len(set(labels.tolist()))) == (3, 12, 12)
    assert torch.equal(torch.cat([batch.labels for batch in batches(seed=None).epoch()]), SPLIT.labels)


def test_an_epoch_continues_from_any_batch() -> None:
    whole, rest = list(batches("crop_flip").epoch(2)), list(batches("crop_flip").epoch(2, first=1))
    assert len(rest) == 2
    for batch, other in zip(whole[1:], rest, strict=True):
        assert torch.equal(batch.inputs, other.inputs)
        assert torch.equal(batch.labels, other.labels)
    assert not torch.equal(whole[0].labels, next(batches("crop_flip").epoch(3)).labels)
