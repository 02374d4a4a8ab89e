"""What each corruption does by its definition, on images for which the result is known."""

from __future__ import annotations

import colorsys
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import ndimage

from normbench_cli.corruptions import CORRUPTIONS
from normbench_cli.corruptions.digital import Saturate
from normbench_cli.corruptions.weather import Brightness
from normbench_cli.errors import NormbenchError

# mean change of `waves()` by another implementation with ImageNet-C's strengths (imagecorruptions-imaug 1.1.5)
REFERENCE = {
    "gaussian_blur": (3.116, 10.473, 19.275, 27.047, 36.120),
    "defocus_blur": (7.459, 12.076, 22.663, 32.195, 39.748),
    "zoom_blur": (11.403, 14.784, 18.022, 20.726, 22.840),
    "brightness": (18.689, 35.933, 48.617, 57.728, 62.995),
    "contrast": (24.225, 28.252, 32.289, 36.325, 38.335),
    "saturate": (28.345, 36.529, 30.899, 43.200, 43.341),
    "pixelate": (7.548, 8.631, 11.080, 14.956, 17.224),
}


def run(spec: str, image: np.ndarray) -> np.ndarray:
    """One image (H, W, C), corrupted."""
    corrupted: torch.Tensor = CORRUPTIONS.build(spec)(torch.from_numpy(image).permute(2, 0, 1)[None])
    return corrupted[0].permute(1, 2, 0).numpy()


def plain(*color: int, side: int = 32) -> np.ndarray:
    return np.full((side, side, len(color)), color, np.uint8)


def waves() -> np.ndarray:
    y, x, c = np.mgrid[:48, :48, :3]
    values: np.ndarray = 128 + 100 * np.sin(x / 3 + c) * np.cos(y / (4 + c))
    return values.astype(np.uint8)


@pytest.mark.parametrize("severity", range(1, 6))
@pytest.mark.parametrize("name", REFERENCE)
def test_strengths_equal_those_of_another_implementation(name: str, severity: int) -> None:
    found = run(f"{name}:severity={severity},table=imagenet", waves())
    assert np.abs(found.astype(float) - waves()).mean() == pytest.approx(REFERENCE[name][severity - 1], abs=0.05)


def test_contrast_moves_every_channel_towards_its_mean() -> None:
    image = plain(50, 200)
    image[::2, :, 0] = 151
    found = run("contrast:severity=2", image)  # halfway to 100.5, truncated
    assert {*found[::2, :, 0].flat} == {125}
    assert {*found[1::2, :, 0].flat} == {75}
    assert abs(found[:, :, 1].astype(int) - 200).max() <= 1


def test_brightness_raises_the_largest_value_and_keeps_the_hue() -> None:
    assert run("brightness:severity=5", plain(200, 100, 0))[0, 0].tolist() == [255, 127, 0]
    assert run("brightness:severity=2", plain(0, 0, 0))[0, 0].tolist() == [25, 25, 25]
    assert run("brightness:severity=2", plain(100))[0, 0].tolist() == [125]  # 100 + 25.5, truncated


@pytest.mark.parametrize("severity", range(1, 6))
def test_brightness_and_saturate_equal_the_standard_librarys_hsv(severity: int) -> None:
    image = np.random.default_rng(0).integers(0, 256, (8, 8, 3)).astype(np.uint8)
    image[0, 0] = 90
    raised = Brightness.cifar[severity - 1]
    factor, offset = Saturate.cifar[severity - 1]
    for name in ("brightness", "saturate"):
        found = run(f"{name}:severity={severity}", image)
        for pixel, (red, green, blue) in zip(found.reshape(-1, 3), image.reshape(-1, 3) / 255, strict=True):
            hue, saturation, value = colorsys.rgb_to_hsv(red, green, blue)
            if name == "brightness":
                value = min(value + raised, 1)
            else:
                saturation = min(saturation * factor + offset, 1)
            expected = 255 * np.array(colorsys.hsv_to_rgb(hue, saturation, value))
            assert (np.abs(pixel - expected) < 1.01).all()


def test_noise_has_its_published_size() -> None:
    gray, side = 128, 128
    image = plain(gray, side=side)

    def noise(name: str) -> np.ndarray:
        return run(f"{name}:severity=3,table=cifar", image).astype(float) - gray

    assert noise("gaussian_noise").std() == pytest.approx(0.08 * 255, rel=0.03)
    assert noise("speckle_noise").std() == pytest.approx(0.12 * gray, rel=0.03)
    assert noise("shot_noise").std() == pytest.approx(255 * (gray / 255 / 100) ** 0.5, rel=0.03)
    hit = run("impulse_noise:severity=5,table=cifar", image)
    assert {*hit.flat} == {0, gray, 255}
    assert (hit != gray).mean() == pytest.approx(0.07, abs=0.01)
    assert (hit == 255).sum() / (hit != gray).sum() == pytest.approx(0.5, abs=0.06)


def test_fog_keeps_the_largest_value_where_it_is_thickest() -> None:
    value, amount = 120 / 255, 0.75
    found = run("fog:severity=3", plain(120))
    assert found.max() in (119, 120)
    assert found.min() == int(255 * value * value / (value + amount))


def test_snow_makes_the_image_paler_and_adds_flakes() -> None:
    found = run("snow:severity=1", plain(0, 0, 0))
    assert found.min() == int(255 * 0.05 * 0.5)
    assert 0 < (found > found.min()).mean() < 1
    assert (found == found[..., :1]).all()


@pytest.mark.parametrize("channels", [1, 3])
def test_frost_is_a_sum_of_image_and_photograph(frost: Path, channels: int) -> None:
    found = {run(f"frost:severity=4,seed={seed}", plain(*[100] * channels))[0, 0, 0] for seed in range(40)}
    expected = {int(0.85 * 100 + 0.4 * gray + 1e-9) for gray in (150, 160, 170, 180, 190)}
    assert all(min(abs(int(value) - other) for other in expected) <= 1 for value in found)
    assert len(found) == 5


def test_without_its_photographs_frost_says_where_to_get_them(
    monkeypatch: pytest.MonkeyPatch, frost: Path, data_folder: Path
) -> None:
    monkeypatch.setattr("normbench_cli.corruptions.frost.find_spec", lambda name: None)
    (frost / "frost3.png").write_bytes(b"no picture")
    with pytest.raises(NormbenchError, match=r"frost3\.png cannot be read as an image"):
        CORRUPTIONS.build("frost:severity=1")(torch.zeros(40, 3, 8, 8, dtype=torch.uint8))
    (frost / "frost3.png").unlink()
    with pytest.raises(NormbenchError, match="imagecorruptions-imaug"):
        CORRUPTIONS.build("frost:severity=1")


def test_frost_finds_its_photographs_in_an_installed_package(
    monkeypatch: pytest.MonkeyPatch, frost: Path, tmp_path: Path
) -> None:
    package = tmp_path / "imagecorruptions"
    package.mkdir()
    frost.rename(package / "frost")
    (package / "__init__.py").write_text("raise RuntimeError('it must not be imported')")
    monkeypatch.syspath_prepend(tmp_path)
    assert run("frost:severity=1", plain(0, 0, 0)).min() >= int(0.2 * 149)


@pytest.mark.parametrize("severity", [1, 2, 3])
def test_water_shines_blue(severity: int) -> None:
    found = run(f"spatter:severity={severity},seed=3", plain(50, 50, 50)).astype(int) - 50
    assert found.min() >= -1
    assert found[..., 0].max() == pytest.approx(0.5 * 175, abs=1)  # the brightest spot, half of pale turquoise
    assert found[..., 2].max() == pytest.approx(0.5 * 238, abs=1)


def test_mud_covers() -> None:
    found = run("spatter:severity=5", plain(255, 255, 255))
    darkest = found.reshape(-1, 3)[found.sum(2).argmin()]
    assert np.abs(darkest - np.array([63, 42, 20])).max() <= 45
    assert (found == 254).all(2).any() or (found == 255).all(2).any()


def test_pixelate_makes_blocks() -> None:
    image = np.kron(np.random.default_rng(0).integers(0, 256, (16, 16)), np.ones((2, 2)))[..., None].astype(np.uint8)
    assert np.array_equal(run("pixelate:severity=2,table=imagenet", image), image)  # half: its blocks already
    board = (np.indices((32, 32)).sum(0) % 2 * 200)[..., None].astype(np.uint8)
    assert {*run("pixelate:severity=2,table=imagenet", board).flat} == {100}


def test_jpeg_keeps_a_plain_image_and_blurs_color() -> None:
    assert np.abs(run("jpeg_compression:severity=5", plain(90, 120, 200)).astype(int) - (90, 120, 200)).max() <= 3
    stripes = plain(128, 128, 128)
    stripes[:, ::2] = 148, 118, 128  # of nearly equal brightness: color is stored at half the resolution
    spread = run("jpeg_compression:severity=1", stripes).astype(int)
    assert np.abs(spread[:, ::2] - spread[:, 1::2]).max() < 10


def test_the_weakest_elastic_transform_moves_three_points() -> None:
    """Severity 1 for small images has no local distortion: each point of a plane keeps its value where it is moved."""
    y, x = np.mgrid[:32, :32]
    found = run("elastic_transform:severity=1,seed=5", (5 * x + 2 * y + 20)[..., None].astype(np.uint8))[..., 0]
    draw = np.random.Generator(np.random.Philox(key=np.array([5, 0], dtype=np.uint64)))
    before = np.array([[26, 26], [26, 6], [6, 6]])
    after = before + draw.uniform(-0.08 * 32, 0.08 * 32, (3, 2))
    assert np.abs(after - before).max() > 1
    there = ndimage.map_coordinates(found.astype(float), after.T, order=1)
    assert there == pytest.approx(5 * before[:, 1] + 2 * before[:, 0] + 20, abs=1.01)
    middle = found[8:24, 8:24].astype(int)
    assert max(np.abs(np.diff(middle, 2, axis=axis)).max() for axis in (0, 1)) <= 2
