"""Every corruption at every severity: a reproducible image, more different the higher the severity."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from normbench_cli.corruptions import CORRUPTIONS
from normbench_cli.corruptions.base import GeneratedCorruption
from normbench_cli.errors import UsageError

GENERATED = [name for name, entry in CORRUPTIONS.entries.items() if entry.facts.family]
# their published parameters do not order the change of the pixels: one distorts more and shears less, the other
# reduces the color first
NOT_ORDERED = {"elastic_transform", "saturate"}

pytestmark = pytest.mark.usefixtures("frost")


def images(channels: int, side: int, count: int = 3) -> Tensor:
    """Smooth images, like photographs, all different, with some noise."""
    image, channel, y, x = np.ogrid[:count, :channels, :side, :side]
    waves = np.sin(x / (3 + image) + channel) * np.cos(y / 4 + image) + 0.3 * np.sin(x + y)
    noise = np.random.default_rng(0).normal(0, 2, waves.shape)
    return torch.from_numpy((120 + 60 * waves + noise).clip(0, 255).astype(np.uint8))


def accepts(name: str, channels: int) -> bool:
    corruption = CORRUPTIONS.build(name, severity=1)
    assert isinstance(corruption, GeneratedCorruption)
    return not corruption.channels or channels in corruption.channels


@pytest.mark.parametrize(
    ("channels", "side"),
    [(1, 48), (3, 32), pytest.param(1, 32, marks=pytest.mark.slow), pytest.param(3, 48, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("name", GENERATED)
def test_every_image_is_changed_and_independently_of_its_batch(name: str, channels: int, side: int) -> None:
    if not accepts(name, channels):
        with pytest.raises(UsageError, match=f"{name} is not defined for images of {channels} channel"):
            CORRUPTIONS.build(name, severity=1)(images(channels, side))
        return
    clean = images(channels, side)
    before = clean.clone()
    for severity in range(1, 6):
        corrupt = CORRUPTIONS.build(name, severity=severity)
        found = corrupt(clean)
        assert found.dtype == torch.uint8
        assert found.shape == clean.shape
        assert torch.equal(clean, before)
        assert (found != clean).flatten(1).any(1).all()
        split = torch.cat([corrupt(clean[:1]), corrupt(clean[1:], first=1)])
        assert torch.equal(split, found)
        assert torch.equal(CORRUPTIONS.build(name, severity=severity)(clean), found)


@pytest.mark.parametrize("table", ["cifar", "imagenet"])
@pytest.mark.parametrize("name", sorted({*GENERATED} - NOT_ORDERED))
def test_the_highest_severity_changes_more_than_the_lowest(name: str, table: str) -> None:
    clean = images(3, 48)

    def change(severity: int) -> float:
        found = CORRUPTIONS.build(name, severity=severity, table=table)(clean)
        return float((found.double() - clean.double()).square().mean())

    changes = [change(severity) for severity in range(1, 6)]
    assert changes[4] > 1.2 * changes[0] > 0
    if CORRUPTIONS.find(name).facts.family == "noise":
        assert changes == sorted(changes)


@pytest.mark.parametrize(
    "name", ["gaussian_noise", "shot_noise", "glass_blur", "motion_blur", "snow", "fog", "spatter"]
)
def test_randomness_depends_on_the_seed_and_the_images_index_only(name: str) -> None:
    same = images(3, 32, 1).repeat(4, 1, 1, 1)
    found = CORRUPTIONS.build(name, severity=5)(same)
    assert len({image.numpy().tobytes() for image in found}) >= 3  # two directions of motion can be nearly the same
    assert torch.equal(CORRUPTIONS.build(name, severity=5)(same[:1], first=3)[0], found[3])
    assert not torch.equal(CORRUPTIONS.build(name, severity=5, seed=1)(same), found)
    np.random.seed(0)
    torch.manual_seed(0)
    drawn = np.random.rand(), torch.rand(1)
    np.random.seed(0)
    torch.manual_seed(0)
    CORRUPTIONS.build(name, severity=5)(same)
    assert (np.random.rand(), torch.rand(1)) == drawn  # the global generators were not advanced


@pytest.mark.parametrize("name", GENERATED)
def test_floating_point_images_give_the_same_pixels(name: str) -> None:
    clean = images(3, 32)
    corrupt = CORRUPTIONS.build(name, severity=3)
    found = corrupt(clean.float() / 255)
    assert found.dtype == torch.float32
    assert torch.equal((found * 255).round().to(torch.uint8), corrupt(clean))


@pytest.mark.parametrize("name", sorted({*GENERATED} - {"jpeg_compression", "saturate", "snow", "spatter", "frost"}))
def test_any_number_of_channels_and_any_proportions_are_accepted(name: str) -> None:
    clean = images(5, 40)[:, :, :24]
    assert CORRUPTIONS.build(name, severity=4)(clean).shape == clean.shape


@pytest.mark.parametrize("name", sorted({*GENERATED} - {"saturate"}))
def test_tiny_and_black_images_are_accepted(name: str) -> None:
    """As small as the digits; and black ones, whose largest value cannot be divided by."""
    for clean in (images(1, 8), torch.zeros(1, 1, 8, 8, dtype=torch.uint8)):
        for severity in (1, 5):
            assert CORRUPTIONS.build(name, severity=severity)(clean).shape == clean.shape


@pytest.mark.parametrize(("side", "table"), [(64, "cifar"), (65, "imagenet")])
def test_the_size_chooses_the_table(side: int, table: str) -> None:
    clean = images(1, side)
    found = CORRUPTIONS.build("contrast", severity=2)(clean)
    assert torch.equal(found, CORRUPTIONS.build("contrast", severity=2, table=table)(clean))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("fog:severity=0", "severity is 0; give 1 to 5"),
        ("fog:severity=6", "severity is 6; give 1 to 5"),
        ("fog:severity=much", "not a whole number"),
        ("fog:severity=1,seed=-1", "seed is -1"),
        ("fog:severity=1,table=mnist", "not one of auto, cifar, imagenet"),
        ("cifar10c:name=rain,severity=1", "not one of gaussian_noise"),
    ],
)
def test_an_invalid_parameter_is_refused_in_one_sentence(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        CORRUPTIONS.build(spec)


def test_images_without_a_batch_are_refused() -> None:
    with pytest.raises(UsageError, match=r"\(3, 8, 8\).*\(N, C, H, W\)"):
        CORRUPTIONS.build("fog:severity=1")(torch.zeros(3, 8, 8, dtype=torch.uint8))


def test_the_nineteen_of_the_paper_are_there_four_of_them_extra() -> None:
    extra = {name for name in GENERATED if CORRUPTIONS.find(name).facts.extra}
    assert len(GENERATED) == 19
    assert extra == {"speckle_noise", "gaussian_blur", "spatter", "saturate"}
    assert all(CORRUPTIONS.find(name).paper for name in CORRUPTIONS.entries)


def test_severity_is_always_named() -> None:
    assert CORRUPTIONS.canonical("fog:severity=1,seed=0") == "fog:severity=1"
