"""ResNet-101 for small images: bottleneck blocks behind a 3x3 stem that keeps the image's size."""

from __future__ import annotations

from normbench_cli.models._blocks.factory import LayerFactory
from normbench_cli.models._blocks.residual import Bottleneck, ResNet
from normbench_cli.registry import MODELS


@MODELS.register("resnet101", paper="He et al. 2016")
class ResNet101(ResNet):
    """ResNet-101 for 32x32 images: 3, 4, 23 and 3 bottleneck blocks, 256 to 2048 channels, 43 million parameters."""

    def __init__(self, norm: str = "batchnorm", act: str = "relu", num_classes: int = 10, in_channels: int = 3) -> None:
        layers = LayerFactory(norm, act)
        stem = layers.conv_norm_act(in_channels, 64, 3, first=True)
        super().__init__(layers, stem, Bottleneck, (64, 128, 256, 512), (3, 4, 23, 3), num_classes)
