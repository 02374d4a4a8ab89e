"""ResNet-18 for small images: the network of He et al. 2016 with a 3x3 stem that keeps the image's size."""

from __future__ import annotations

from normbench_cli.models._blocks.factory import LayerFactory
from normbench_cli.models._blocks.residual import Basic, ResNet
from normbench_cli.registry import MODELS


@MODELS.register("resnet18", paper="He et al. 2016")
class ResNet18(ResNet):
    """ResNet-18 for 32x32 images: four stages of two blocks, 64 to 512 channels, 11 million parameters."""

    def __init__(self, norm: str = "batchnorm", act: str = "relu", num_classes: int = 10, in_channels: int = 3) -> None:
        layers = LayerFactory(norm, act)
        stem = layers.conv_norm_act(in_channels, 64, 3, first=True)
        super().__init__(layers, stem, Basic, (64, 128, 256, 512), (2, 2, 2, 2), num_classes)
