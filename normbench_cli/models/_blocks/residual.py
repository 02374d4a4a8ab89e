"""Residual blocks, and the network of stages that every ResNet here is."""

from __future__ import annotations

from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from normbench_cli.models._blocks.factory import LayerFactory
from normbench_cli.models._blocks.pooling import global_avg_pool, subsample

Option = Literal["A", "B"]


class Residual(nn.Module):
    """act(branch(x) + shortcut(x)).  Its output has `expansion` times the channels that the block is named by."""

    expansion = 1

    def __init__(self, branch: nn.Module, shortcut: nn.Module, act: nn.Module) -> None:
        super().__init__()
        self.branch, self.shortcut, self.act = branch, shortcut, act

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.branch(x) + self.shortcut(x))


class Basic(Residual):
    """Two 3x3 convolutions around a shortcut."""

    def __init__(self, layers: LayerFactory, inputs: int, width: int, stride: int, option: Option = "B") -> None:
        super().__init__(
            nn.Sequential(
                layers.conv_norm_act(inputs, width, 3, stride), layers.conv_norm_act(width, width, 3, act=False)
            ),
            make_shortcut(layers, inputs, width, stride, option),
            layers.activation(),
        )


class Bottleneck(Residual):
    """A 3x3 convolution between two of 1x1 that narrow and widen, around a shortcut."""

    expansion = 4

    def __init__(self, layers: LayerFactory, inputs: int, width: int, stride: int, option: Option = "B") -> None:
        outputs = width * self.expansion
        super().__init__(
            nn.Sequential(
                layers.conv_norm_act(inputs, width, 1),
                layers.conv_norm_act(width, width, 3, stride),
                layers.conv_norm_act(width, outputs, 1, act=False),
            ),
            make_shortcut(layers, inputs, outputs, stride, option),
            layers.activation(),
        )


class PadShortcut(nn.Module):
    """Option A: one pixel of stride x stride is kept, the new channels are zeros; no parameters."""

    def __init__(self, stride: int, extra: int) -> None:
        super().__init__()
        self.stride, self.extra = stride, extra

    def forward(self, x: Tensor) -> Tensor:
        return F.pad(subsample(x, self.stride), (0, 0, 0, 0, self.extra // 2, self.extra - self.extra // 2))


def make_shortcut(layers: LayerFactory, inputs: int, outputs: int, stride: int, option: Option) -> nn.Module:
    """The input itself; where the shape changes, without parameters (A) or through a 1x1 convolution (B)."""
    if stride == 1 and inputs == outputs:
        return nn.Identity()
    if option == "A":
        return PadShortcut(stride, outputs - inputs)
    return layers.conv_norm_act(inputs, outputs, 1, stride, act=False)


class ResNet(nn.Module):
    """A stem, stages of residual blocks that halve the image from the second on, the mean over pixels, a classifier."""

    def __init__(
        self,
        layers: LayerFactory,
        stem: nn.Module,
        block: type[Basic] | type[Bottleneck],
        widths: tuple[int, ...],
        depths: tuple[int, ...],
        num_classes: int,
        option: Option = "B",
    ) -> None:
        super().__init__()
        self.stem = stem
        self.stages = nn.Sequential()
        inputs = widths[0]
        for stage, (width, depth) in enumerate(zip(widths, depths, strict=True)):
            blocks = nn.Sequential()
            for number in range(depth):
                stride = 2 if stage > 0 and number == 0 else 1
                blocks.append(block(layers, inputs, width, stride, option))
                inputs = width * block.expansion
            self.stages.append(blocks)
        self.classifier = layers.classifier(inputs, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(global_avg_pool(self.stages(self.stem(x))))
