"""The shapes of presets and of models are those with which the networks really call their norms."""

from __future__ import annotations

from importlib import import_module

import pytest
import torch

from normbench_cli.datasets._images.torchvision_compat import import_torchvision
from normbench_cli.errors import UsageError
from normbench_cli.experiments.profiling.presets import PRESETS, preset_shapes
from normbench_cli.experiments.profiling.shapes_of import shapes_of
from normbench_cli.measure.norm_shapes import norm_shapes


@pytest.mark.parametrize(("preset", "model"), [("resnet18-cifar", "resnet18"), ("vgg16-cifar", "vgg16")])
def test_presets_of_images_are_what_the_models_do(preset: str, model: str) -> None:
    assert preset_shapes(preset) == shapes_of(f"{model}@3x32x32", {"batch_size": "128"})
    assert preset_shapes(preset, 4) == shapes_of(f"{model}@3x32x32", {"batch_size": "4"})


def test_the_preset_of_imagenet_is_what_torchvision_does() -> None:
    import_torchvision()
    with torch.device("meta"):
        network = import_module("torchvision.models").resnet50()
        found = norm_shapes(network, lambda: network(torch.zeros(32, 3, 224, 224)))
    assert found == preset_shapes("resnet50-imagenet")
    assert sum(found.values()) == 53
    assert shapes_of("torchvision.models:resnet50@3x224x224", {}) == found


def test_a_network_of_graphs_calls_its_norms_with_the_nodes_of_a_batch() -> None:
    found = shapes_of("gcn", {"batch_size": "20"})
    assert [(shape[1:], count) for shape, count in found.items()] == [((64,), 4)]
    assert preset_shapes("gcn") == {(128 * 18, 64): 4}
    ((nodes, _),) = found
    assert 20 * 5 <= nodes <= 20 * 12


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("resnet18@3x32", "resnet18 cannot take images of 3x32"),
        ("vgg16@3x8x8", "at least 32x32 pixels"),
        ("resnet18@3xa", "is not the size of an image"),
        ("torch.nn:Linear", "cannot be run on images of 3x224x224"),
        ("resnet", "unknown model"),
        ("gcn@3x8x8", "cannot take images of 3x8x8"),
    ],
)
def test_what_has_no_shapes_is_refused(model: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        shapes_of(model, {})


def test_an_unknown_preset_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no preset 'resnet18'.*resnet18-cifar"):
        preset_shapes("resnet18")
    assert all(preset.source for preset in PRESETS.values())
