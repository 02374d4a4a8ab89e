"""Attacks: the size and range of their changes, the state of the model after them, and a reference in plain code."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from normbench_cli.attacks import ATTACKS
from normbench_cli.errors import UsageError

MEAN, STD = (0.5, 0.4, 0.45), (0.2, 0.25, 0.3)
GIVEN = {"mean": MEAN, "std": STD}
EVERY = ATTACKS.choices()


@pytest.fixture
def batch() -> tuple[torch.Tensor, torch.Tensor]:
    """Standardized pixels with the smallest and the largest among them, computed as the data sets' batches are."""
    draw = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (16, 3, 8, 8), dtype=torch.uint8, generator=draw)
    pixels[0, :, 0, 0], pixels[0, :, 0, 1] = 0, 255
    scale = (1 / (255 * torch.tensor(STD))).view(-1, 1, 1)
    shift = (-torch.tensor(MEAN) / torch.tensor(STD)).view(-1, 1, 1)
    return pixels * scale + shift, torch.randint(0, 4, (16,), generator=draw)


@pytest.fixture
def net() -> nn.Sequential:
    torch.manual_seed(0)
    head = nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(), nn.Linear(32, 4))
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), head)


def accuracy(net: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    with torch.no_grad():
        return float((net.eval()(x).argmax(1) == y).double().mean())


@pytest.mark.parametrize("clip", ["data_range", "galloway", "none"])
@pytest.mark.parametrize("space", ["normalized", "pixel"])
@pytest.mark.parametrize("steps", [1, 20])
def test_bim_stays_in_the_box_and_in_the_range(
    net: nn.Sequential, batch: tuple[Tensor, ...], clip: str, space: str, steps: int
) -> None:
    x, y = batch
    attack = ATTACKS.build("bim", eps=0.03, step=0.01, steps=steps, clip=clip, space=space, **GIVEN)
    moved = attack(net, x, y)
    per_channel = torch.tensor(STD).view(-1, 1, 1) if space == "pixel" else 1.0
    assert ((moved - attack.clip_only(x)) * per_channel).abs().max() <= 0.03 + 1e-6
    assert not torch.equal(moved, attack.clip_only(x))
    pixels = moved * torch.tensor(STD).view(-1, 1, 1) + torch.tensor(MEAN).view(-1, 1, 1)
    if clip == "data_range":
        assert -1e-6 <= pixels.min() <= pixels.max() <= 1 + 1e-6
    if clip == "galloway":
        assert moved.abs().max() <= 2


def test_without_mean_and_std_bim_stays_in_the_batchs_range(net: nn.Sequential, batch: tuple[Tensor, ...]) -> None:
    x, y = batch
    moved = ATTACKS.build("bim", eps=0.5, step=0.1)(net, x, y)
    low, high = x.amin((0, 2, 3), keepdim=True), x.amax((0, 2, 3), keepdim=True)
    assert ((moved >= low) & (moved <= high)).all()


@pytest.mark.parametrize("given", [{}, GIVEN])
def test_size_0_changes_nothing(net: nn.Sequential, batch: tuple[Tensor, ...], given: dict[str, Any]) -> None:
    x, y = batch
    assert torch.equal(ATTACKS.build("bim", eps=0.0, **given)(net, x, y), x)
    assert torch.equal(ATTACKS.build("bim", **given).clip_only(x), x)
    assert torch.equal(ATTACKS.build("gaussian", sigma=0.0, clip="data_range", **given)(net, x, y), x)


def test_clip_only_is_the_clipping_alone(net: nn.Sequential, batch: tuple[Tensor, ...]) -> None:
    x, y = batch
    attack = ATTACKS.build("bim", eps=0.0, clip="galloway")
    assert torch.equal(attack(net, x, y), x.clamp(-2, 2))
    assert torch.equal(attack.clip_only(x), x.clamp(-2, 2))


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("training", [True, False])
def test_the_model_keeps_its_state(net: nn.Sequential, batch: tuple[Tensor, ...], name: str, training: bool) -> None:
    x, y = batch
    net.train(training)
    net[1].eval()  # one part in another mode, as a frozen layer is
    conv = net[0]
    assert isinstance(conv, nn.Conv2d)
    conv.weight.grad = torch.ones_like(conv.weight)
    state = {key: value.clone() for key, value in net.state_dict().items()}
    before = x.clone()
    moved = ATTACKS.build(name)(net, x, y)
    assert torch.equal(x, before)
    assert not moved.requires_grad
    assert x.grad is None
    assert net.training is training
    assert not net[1].training
    torch.testing.assert_close(net.state_dict(), state, rtol=0, atol=0)
    assert torch.equal(conv.weight.grad, torch.ones_like(conv.weight))
    assert conv.bias is not None
    assert conv.bias.grad is None


def test_buffers_survive_a_layer_that_writes_them_in_evaluation(batch: tuple[Tensor, ...]) -> None:
    class Restless(nn.BatchNorm2d):
        def forward(self, x: Tensor) -> Tensor:
            assert self.running_mean is not None
            self.running_mean += 1
            return super().forward(x)

    norm = Restless(3)
    ATTACKS.build("bim", steps=3)(nn.Sequential(norm, nn.Flatten(), nn.Linear(192, 4)), *batch)
    assert norm.running_mean is not None
    assert not norm.running_mean.any()


@pytest.mark.parametrize("outer", [torch.no_grad, torch.inference_mode, torch.enable_grad])
@pytest.mark.parametrize("name", EVERY)
def test_attacks_work_in_every_gradient_mode(
    net: nn.Sequential, batch: tuple[Tensor, ...], name: str, outer: type[Any]
) -> None:
    x, y = batch
    with outer():
        inside = ATTACKS.build(name)(net, x * 1, y * 1)
    assert torch.equal(inside, ATTACKS.build(name)(net, x, y))


def test_more_steps_and_more_eps_do_not_raise_accuracy() -> None:
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(400, 3, 4, 4, generator=draw)
    y = (x.mean((1, 2, 3)) > 0).long() + 2 * (x[:, 0].mean((1, 2)) > 0).long()
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten(), nn.Linear(64, 4))
    optimizer = torch.optim.Adam(net.parameters(), 0.02)
    for _ in range(60):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()

    def under(**settings: float) -> float:
        return accuracy(net, ATTACKS.build("bim", clip="none", step=0.01, **settings)(net, x, y), y)

    clean = accuracy(net, x, y)
    steps = [clean, *(under(eps=0.2, steps=n) for n in (1, 2, 5, 10, 20))]
    eps = [clean, *(under(eps=e, steps=20) for e in (0.01, 0.03, 0.1, 0.2))]
    for curve in (steps, eps):
        assert all(later <= earlier + 0.01 for earlier, later in pairwise(curve))
        assert curve[-1] < clean - 0.2


@pytest.mark.parametrize("clip", ["galloway", "data_range"])
def test_bim_equals_plain_code_on_a_linear_model(clip: str) -> None:
    draw = torch.Generator().manual_seed(3)
    weight = torch.randn(5, 12, dtype=torch.float64, generator=draw)
    x = 2 * torch.randn(30, 12, dtype=torch.float64, generator=draw)
    y = torch.randint(0, 5, (30,), generator=draw)
    net = nn.Linear(12, 5, bias=False, dtype=torch.float64)
    net.weight.data = weight

    limit = torch.full((12,), 2.0, dtype=torch.float64)
    low, high = (-limit, limit) if clip == "galloway" else (x.amin(0), x.amax(0))
    plain = x.clone()
    for _ in range(20):
        wrong = torch.softmax(plain @ weight.T, 1)
        wrong[range(30), y] -= 1  # the gradient of cross-entropy is softmax less the label
        plain = plain + 0.003 * torch.sign(wrong @ weight)
        plain = torch.minimum(torch.maximum(plain, x - 0.03), x + 0.03).clamp(low, high)

    moved = ATTACKS.build("bim", eps=0.03, step=0.003, steps=20, clip=clip)(net, x, y)
    torch.testing.assert_close(moved, plain, rtol=0, atol=1e-6)


def test_pixel_space_equals_the_same_attack_on_pixels(net: nn.Sequential, batch: tuple[Tensor, ...]) -> None:
    """As the library torchattacks does it: the model gets pixels and standardizes them itself."""
    x, y = batch
    net.eval()
    shape = (1, 3, 1, 1)
    mean, std = torch.tensor(MEAN).view(shape), torch.tensor(STD).view(shape)

    class OnPixels(nn.Module):
        def forward(self, pixels: Tensor) -> Tensor:
            scores: Tensor = net((pixels - mean) / std)
            return scores

    settings = {"eps": 4 / 255, "step": 1 / 255, "steps": 5, "space": "pixel"}
    inner = ATTACKS.build("bim", **settings, **GIVEN)(net, x, y) * std + mean
    outer = ATTACKS.build("bim", **settings)(OnPixels(), x * std + mean, y)
    assert (inner - outer).abs().mean() < 1e-5  # a sign may differ where the gradient is nearly 0


def test_noise_has_the_given_size_and_a_generator_of_its_own(net: nn.Sequential, batch: tuple[Tensor, ...]) -> None:
    x, y = batch[0].repeat(4, 1, 1, 1), batch[1].repeat(4)
    attack = ATTACKS.build("gaussian")
    torch.manual_seed(1)
    first, second = attack(net, x, y) - x, attack(net, x, y) - x
    assert first.std().item() == pytest.approx(0.25, rel=0.02)
    assert not torch.equal(first, second)
    drawn = torch.rand(1)
    torch.manual_seed(1)
    assert torch.equal(drawn, torch.rand(1))  # the global generator was not advanced
    assert torch.equal(ATTACKS.build("gaussian")(net, x, y) - x, first)
    assert not torch.equal(ATTACKS.build("gaussian", seed=1)(net, x, y) - x, first)
    pixels = ATTACKS.build("gaussian", sigma=0.05, space="pixel", **GIVEN)(net, x, y) - x
    torch.testing.assert_close(pixels.std((0, 2, 3)), 0.05 / torch.tensor(STD), rtol=0.05, atol=0)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("bim:eps=-1", "eps is -1"),
        ("bim:steps=0", "steps is 0"),
        ("bim:step=nan", "step is nan"),
        ("bim:clip=all", "not one of"),
        ("gaussian:sigma=-1", "sigma is -1"),
        ("bim:mean=1", "mean"),
    ],
)
def test_an_invalid_parameter_is_refused_in_one_sentence(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ATTACKS.build(spec)


@pytest.mark.parametrize("given", [{"mean": MEAN}, {"mean": MEAN, "std": (1.0,)}, {"mean": (0.0,), "std": (0.0,)}])
def test_mean_and_std_belong_together(given: dict[str, tuple[float, ...]]) -> None:
    with pytest.raises(UsageError, match="std"):
        ATTACKS.build("bim", **given)


@pytest.mark.parametrize("name", EVERY)
def test_an_attack_never_waits_for_the_device(name: str) -> None:
    net = nn.Sequential(nn.Flatten(), nn.Linear(12, 3)).to("meta")
    if name == "gaussian":
        pytest.skip("the meta device has no generator")
    moved = ATTACKS.build(name, mean=(0.5,) * 3, std=(0.2,) * 3)(
        net, torch.empty(2, 3, 2, 2, device="meta"), torch.empty(2, dtype=torch.long, device="meta")
    )
    assert moved.shape == (2, 3, 2, 2)


def test_infinite_eps_is_refused() -> None:
    with pytest.raises(UsageError, match="eps"):
        ATTACKS.build("bim", eps=math.inf)
