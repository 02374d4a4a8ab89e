"""What is special about the multilayer perceptron: images of any size become vectors of one length."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from normbench_cli.models.mlp import resized


@pytest.mark.parametrize("shape", [(16, 16), (32, 32), (8, 16), (24, 24), (48, 32), (1, 1)])
def test_images_are_resized_as_adaptive_pooling_does_to_the_last_bit(shape: tuple[int, int]) -> None:
    images = torch.randn(3, 2, *shape)
    assert torch.equal(resized(images, 32), F.adaptive_avg_pool2d(images, 32))
