"""Networks whose norms are converted, and what is asked of them afterwards."""

from __future__ import annotations

import copy
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from normbench_cli.datasets._images.torchvision_compat import import_torchvision

VISION = {"resnet18": 20, "mobilenet_v2": 52, "densenet121": 121, "efficientnet_b0": 49, "vgg16_bn": 13}  # norms
BEFORE = "popnorm"


def volumes() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv3d(2, 4, 3, bias=False), nn.BatchNorm3d(4), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(32, 6),
        nn.BatchNorm1d(6, eps=1e-3), nn.Tanh(), nn.Linear(6, 3),
    )  # fmt: skip


def small() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Conv2d(4, 5, 1))


class Residual(nn.Module):
    """Pre-activation order, in an order of definition that says nothing: only a run shows what feeds what."""

    def __init__(self) -> None:
        super().__init__()
        self.act = nn.ReLU(inplace=True)
        self.norm2 = nn.BatchNorm2d(6)
        self.norm1 = nn.BatchNorm2d(4)
        self.last = nn.Conv2d(4, 2, 1)
        self.conv2 = nn.Conv2d(6, 4, 1, bias=False)
        self.conv1 = nn.Conv2d(4, 6, 1)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.last(x + self.conv2(self.act(self.norm2(self.conv1(self.act(self.norm1(x)))))))
        return y


def make(name: str) -> tuple[nn.Module, Tensor]:
    """A network and an input for it."""
    torch.manual_seed(0)
    x = torch.randn(4, 2, 4, 4, 4) if name == "volumes" else torch.randn(2, 3, 64, 64)
    return copy.deepcopy(original(name)), x


@lru_cache
def original(name: str) -> nn.Module:
    if name == "volumes":
        return volumes()
    if name == "vgg16_bn":
        return vgg_without_its_large_layer()
    return getattr(import_torchvision().models, name)(num_classes=3)  # type: ignore[no-any-return]


def vgg_without_its_large_layer() -> nn.Module:
    """The hundred million weights of its first linear layer are not even made."""
    with torch.device("meta"):
        net: Any = import_torchvision().models.vgg16_bn(num_classes=3, init_weights=False)
    net.avgpool, net.classifier[0] = nn.AdaptiveAvgPool2d(1), nn.Linear(512, 4096, device="meta")
    net.to_empty(device="cpu")
    for module in net.modules():
        if hasattr(module, "reset_parameters"):
            module.reset_parameters()
    return net  # type: ignore[no-any-return]


def names_of(model: nn.Module, kind: type[nn.Module]) -> list[str]:
    return [name for name, m in model.named_modules() if isinstance(m, kind)]


def train_a_step(net: nn.Module, x: Tensor) -> None:
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    loss = net.train()(x).square().mean()
    loss.backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in net.parameters())
    optimizer.step()
    assert loss.isfinite()
