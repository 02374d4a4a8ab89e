"""ResNet-20 for small images (He et al. 2016, section 4.2)."""

from __future__ import annotations

from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from normbench_cli.models.layers import Layers
from normbench_cli.registry import MODELS


class Block(nn.Module):
    """Two 3x3 convolutions around a shortcut: act(conv(conv(x)) + shortcut(x))."""

    def __init__(self, layers: Layers, inputs: int, outputs: int, stride: int, option: str) -> None:
        super().__init__()
        self.conv1 = layers.conv(inputs, outputs, 3, stride)
        self.conv2 = layers.conv(outputs, outputs, 3, act=False)
        self.act = layers.activation()
        self.stride, self.extra = stride, outputs - inputs
        self.shortcut: nn.Module | None = None
        if option == "B" and (stride != 1 or self.extra):
            self.shortcut = layers.conv(inputs, outputs, 1, stride, act=False)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv2(self.conv1(x))
        if self.shortcut is not None:
            x = self.shortcut(x)
        elif self.stride != 1 or self.extra:  # option A: every other pixel, new channels filled with zeros
            x = x[:, :, :: self.stride, :: self.stride]
            x = F.pad(x, (0, 0, 0, 0, self.extra // 2, self.extra - self.extra // 2))
        return self.act(y + x)


@MODELS.register("resnet20", paper="He et al. 2016")
class ResNet20(nn.Module):
    """ResNet-20 for 32x32 images: three stages of three blocks, 16, 32 and 64 channels, 0.27 million parameters.

    option: the shortcut where a stage begins; A has no parameters (stride and zero padding), B is a 1x1 convolution.
    """

    def __init__(
        self,
        norm: str = "batchnorm",
        act: str = "relu",
        num_classes: int = 10,
        in_channels: int = 3,
        option: Literal["A", "B"] = "A",
    ) -> None:
        super().__init__()
        layers = Layers(norm, act)
        self.stem = layers.conv(in_channels, 16, 3, first=True)
        widths = ((16, 16), (16, 32), (32, 64))
        self.blocks = nn.Sequential(
            *(
                Block(
                    layers, inputs if index == 0 else outputs, outputs, 2 if index == 0 and outputs > 16 else 1, option
                )
                for inputs, outputs in widths
                for index in range(3)
            )
        )
        self.classifier = layers.classifier(64, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.blocks(self.stem(x)).mean((2, 3)))
