"""Residual blocks, and the base class of all ResNets here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch.nn.functional as F
from torch import Tensor, nn

from normbench_cli.models._blocks.factory import LayerFactory
from normbench_cli.models._blocks.pooling import global_avg_pool, subsample

Option = Literal["A", "B"]


@dataclass(frozen=True)
class Shortcut:
    """The kind of shortcuts in a network.

    option: where the shape changes, stride and zero padding (A) or a 1x1 convolution (B).  normalized: every shortcut
    has its own norm.  behind_act: the shortcut is added to the activated branch, and the sum is not activated.
    """

    option: Option = "B"
    normalized: bool = False
    behind_act: bool = False


USUAL = Shortcut()


class ResidualBlock(nn.Module):
    """act(branch(x) + shortcut(x)), or act(branch(x)) + shortcut(x) with `behind_act`.  A block has `expansion` times
    its width as output channels."""

    expansion = 1

    def __init__(self, branch: nn.Module, shortcut: nn.Module, act: nn.Module, behind_act: bool = False) -> None:
        super().__init__()
        self.branch = branch
        self.shortcut = shortcut
        self.act = act
        self.behind_act = behind_act

    def forward(self, x: Tensor) -> Tensor:
        if self.behind_act:
            joined: Tensor = self.act(self.branch(x)) + self.shortcut(x)
            return joined
        y: Tensor = self.act(self.branch(x) + self.shortcut(x))
        return y


class BasicBlock(ResidualBlock):
    """Two 3x3 convolutions beside a shortcut."""

    def __init__(self, layers: LayerFactory, inputs: int, width: int, stride: int, shortcut: Shortcut = USUAL) -> None:
        super().__init__(
            nn.Sequential(
                layers.conv_norm_act(inputs, width, 3, stride),
                layers.conv_norm_act(width, width, 3, act=False),
            ),
            make_shortcut(layers, inputs, width, stride, shortcut),
            layers.activation(),
            shortcut.behind_act,
        )


class Bottleneck(ResidualBlock):
    """A 3x3 convolution between two 1x1 ones that reduce and restore the channels, beside a shortcut."""

    expansion = 4

    def __init__(self, layers: LayerFactory, inputs: int, width: int, stride: int, shortcut: Shortcut = USUAL) -> None:
        outputs = width * self.expansion
        super().__init__(
            nn.Sequential(
                layers.conv_norm_act(inputs, width, 1),
                layers.conv_norm_act(width, width, 3, stride),
                layers.conv_norm_act(width, outputs, 1, act=False),
            ),
            make_shortcut(layers, inputs, outputs, stride, shortcut),
            layers.activation(),
            shortcut.behind_act,
        )


class PadShortcut(nn.Module):
    """Option A: every stride-th pixel, with new channels of zeros; no parameters."""

    def __init__(self, stride: int, extra: int) -> None:
        super().__init__()
        self.stride = stride
        self.extra = extra

    def forward(self, x: Tensor) -> Tensor:
        return F.pad(subsample(x, self.stride), (0, 0, 0, 0, self.extra // 2, self.extra - self.extra // 2))


def make_shortcut(layers: LayerFactory, inputs: int, outputs: int, stride: int, shortcut: Shortcut) -> nn.Module:
    """The identity; if the shape changes, `PadShortcut` (A) or a 1x1 convolution (B); optionally with a norm."""
    path: nn.Module = nn.Identity()
    if (stride, inputs) != (1, outputs):
        is_padded = shortcut.option == "A"
        path = (
            PadShortcut(stride, outputs - inputs)
            if is_padded
            else layers.conv_norm_act(inputs, outputs, 1, stride, act=False)
        )
    return nn.Sequential(path, layers.norm_alone(outputs)) if shortcut.normalized else path


class ResNet(nn.Module):
    """A stem, stages of residual blocks, the mean over pixels, a classifier.

    Every stage but the first halves the image.  widths, depths: width and number of blocks of each stage.
    """

    def __init__(
        self,
        layers: LayerFactory,
        stem: nn.Module,
        block: type[BasicBlock] | type[Bottleneck],
        widths: tuple[int, ...],
        depths: tuple[int, ...],
        num_classes: int,
        shortcut: Shortcut = USUAL,
    ) -> None:
        super().__init__()
        self.stem = stem
        self.stages = nn.Sequential()
        inputs = widths[0]
        for stage, (width, depth) in enumerate(zip(widths, depths, strict=True)):
            blocks = nn.Sequential()
            for number in range(depth):
                stride = 2 if stage > 0 and number == 0 else 1
                blocks.append(block(layers, inputs, width, stride, shortcut))
                inputs = width * block.expansion
            self.stages.append(blocks)
        self.classifier = layers.classifier(inputs, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.classifier(global_avg_pool(self.stages(self.stem(x))))
        return scores


class SmallImageResNet(ResNet):
    """ResNet for 32x32 images with four stages of 64 to 512 channels: its 3x3 stem keeps the image's size."""

    block: ClassVar[type[BasicBlock] | type[Bottleneck]]
    depths: ClassVar[tuple[int, ...]]

    def __init__(self, norm: str = "batchnorm", act: str = "relu", num_classes: int = 10, in_channels: int = 3) -> None:
        layers = LayerFactory(norm, act)
        stem = layers.conv_norm_act(in_channels, 64, 3, first=True)
        super().__init__(layers, stem, self.block, (64, 128, 256, 512), self.depths, num_classes)
