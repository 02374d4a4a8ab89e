"""MobileNetV2 for small images: inverted residual blocks with depthwise convolutions."""

from __future__ import annotations

from torch import Tensor, nn

from normbench_cli.models._blocks.factory import LayerFactory
from normbench_cli.models._blocks.pooling import global_avg_pool
from normbench_cli.registry import MODELS

# for each stage: expansion, channels, blocks, stride of the first block; two of the original's strides are 1 here,
# since images are small
STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 1),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


class InvertedResidual(nn.Module):
    """Expand (1x1), depthwise convolution (3x3), project (1x1); plus a shortcut at stride 1."""

    def __init__(self, layers: LayerFactory, inputs: int, outputs: int, expansion: int, stride: int) -> None:
        super().__init__()
        width = inputs * expansion
        self.branch = nn.Sequential(
            layers.conv_norm_act(inputs, width, 1),
            layers.conv_norm_act(width, width, 3, stride, groups=width),
            layers.conv_norm_act(width, outputs, 1, act=False),
        )
        self.shortcut: nn.Module | None = None
        if stride == 1:
            same = inputs == outputs
            self.shortcut = nn.Identity() if same else layers.conv_norm_act(inputs, outputs, 1, act=False)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.branch(x)
        return y if self.shortcut is None else y + self.shortcut(x)


@MODELS.register("mobilenetv2", paper="Sandler et al. 2018")
class MobileNetV2(nn.Module):
    """MobileNetV2 for 32x32 images: 17 inverted residual blocks, 2.3 million parameters."""

    def __init__(self, norm: str = "batchnorm", act: str = "relu", num_classes: int = 10, in_channels: int = 3) -> None:
        super().__init__()
        layers = LayerFactory(norm, act)
        self.stem = layers.conv_norm_act(in_channels, 32, 3, first=True)
        self.blocks = nn.Sequential()
        inputs = 32
        for expansion, outputs, blocks, first_stride in STAGES:
            for stride in (first_stride, *[1] * (blocks - 1)):
                self.blocks.append(InvertedResidual(layers, inputs, outputs, expansion, stride))
                inputs = outputs
        self.head = layers.conv_norm_act(inputs, 1280, 1)
        self.classifier = layers.classifier(1280, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.classifier(global_avg_pool(self.head(self.blocks(self.stem(x)))))
        return scores
