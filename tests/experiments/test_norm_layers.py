"""The norm layers of a model are listed with the parameters that they really have."""

from __future__ import annotations

import pytest

from normbench_cli.experiments.norm_layers import NormLayer, norm_layers
from normbench_cli.registry import MODELS, NORMS


def layers(norm: str, model: str = "resnet20") -> list[NormLayer]:
    network = MODELS.build(model, norm=norm, act="relu", num_classes=10, in_channels=3)
    return norm_layers(network, NORMS.parse_norm(norm))


def test_a_default_that_a_layer_adapts_is_visible() -> None:
    assert {layer.parameters["groups"] for layer in layers("groupnorm")} == {8, 16, 32}
    assert {layer.parameters["groups"] for layer in layers("groupnorm:groups=4")} == {4}


@pytest.mark.parametrize(
    ("norm", "first"),
    [
        ("batchnorm", ("stem.1", "batchnorm", "after", "stem.0")),
        ("popnorm", ("stem.0", "popnorm", "before", "stem.1")),
        ("batchnorm:placement=before", ("stem.0", "batchnorm:placement=before", "before", "stem.1")),
        ("weightnorm", ("stem.0", "weightnorm", "weight", "stem.0")),
    ],
)
def test_a_layer_is_listed_with_its_operation(norm: str, first: tuple[str, ...]) -> None:
    found = layers(norm)[0]
    assert (found.name, found.norm, found.placement, found.operation) == first


def test_joined_norms_are_listed_part_by_part() -> None:
    norms = [layer.norm for layer in layers("ws+gn:groups=4", "mlp")]
    assert norms == sorted(norms, reverse=True)
    assert set(norms) == {"weightstandardization", "groupnorm:groups=4"}


def test_no_norm_is_no_layer() -> None:
    assert layers("none") == []
