"""Saved bytes: each storage once, and without parameters."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from torch import nn

from normbench_cli.measure.memory import saved_activation_bytes
from normbench_cli.registry import NORMS


def test_saved_bytes_are_counted_once_and_without_parameters() -> None:
    x = torch.randn(10, 10, requires_grad=True)
    layer = nn.Linear(10, 10)
    assert saved_activation_bytes(lambda: layer(x), layer) == 400
    assert saved_activation_bytes(lambda: x.exp() + x.exp()) == 800
    assert saved_activation_bytes(lambda: x * x) == 400


def test_buffers_are_not_counted_and_views_count_as_their_whole_storage_once() -> None:
    x = torch.randn(10, 10, requires_grad=True)
    layer = nn.Module()
    layer.register_buffer("scale", torch.ones(10, 10))
    assert saved_activation_bytes(lambda: x * layer.get_buffer("scale"), layer) == 0
    assert saved_activation_bytes(lambda: x * layer.get_buffer("scale")) == 400
    base = torch.randn(20, 10)
    assert saved_activation_bytes(lambda: x * base[:10] + x * base[10:]) == 800


def test_nothing_is_saved_without_gradients() -> None:
    assert saved_activation_bytes(lambda: torch.ones(3).exp()) == 0


@pytest.mark.parametrize("norm", ["batchnorm", "popnorm", "augnorm"])
def test_the_measured_graph_is_freed(norm: str) -> None:
    """Every run once lost the memory of one batch.  `exp` saves its own output, which leads back to its node."""
    layer = NORMS.build(norm, num_features=3)
    outputs: list[weakref.ref[torch.Tensor]] = []

    def forward() -> None:
        y = layer(torch.randn(4, 3, 6, 6)).exp()
        outputs.append(weakref.ref(y))

    assert saved_activation_bytes(forward, layer) > 0
    gc.collect()
    assert [y() for y in outputs] == [None]


IMAGES = (4, 3, 6, 6)
BYTES = 4 * 3 * 6 * 6 * 4  # of such a tensor


@pytest.mark.parametrize(
    ("layer", "saved"),
    [
        (nn.BatchNorm2d(3), BYTES + 2 * 3 * 4),  # its input, and the mean and the scale of every channel
        (nn.Conv2d(3, 5, 3, padding=1), BYTES),  # its input; the weight is kept in any case
        (nn.ReLU(), BYTES),  # its output
        (nn.Sequential(nn.BatchNorm2d(3), nn.ReLU()), 2 * BYTES + 24),
        (nn.Sequential(nn.BatchNorm2d(3), nn.ReLU(inplace=True)), 2 * BYTES + 24),  # one output, overwritten
        (nn.Sequential(nn.ReLU(), nn.Conv2d(3, 3, 1)), BYTES),  # what one gives and the other takes is one tensor
        (nn.Sequential(nn.Conv2d(3, 3, 1), nn.ReLU(), nn.Hardtanh()), 2 * BYTES),
        (nn.Sequential(nn.Conv2d(3, 3, 1), nn.ReLU(), nn.Hardtanh(inplace=True)), 3 * BYTES),  # a copy of what it takes
    ],
    ids=str,
)
def test_what_known_layers_save_to_the_byte(layer: nn.Module, saved: int) -> None:
    x = torch.randn(IMAGES)
    assert saved_activation_bytes(lambda: layer(x.clone().requires_grad_()), layer) == saved
