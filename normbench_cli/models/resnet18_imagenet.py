"""ResNet-18 for large images, with torchvision's layers in the same order, so that state dicts correspond."""

from __future__ import annotations

from torch import nn

from normbench_cli.models._blocks.factory import LayerFactory
from normbench_cli.models._blocks.residual import BasicBlock, ResNet
from normbench_cli.registry import MODELS


@MODELS.register("resnet18_imagenet", paper="He et al. 2016")
class ResNet18ImageNet(ResNet):
    """ResNet-18 for 224x224 images (7x7 stem and max-pool), torchvision's: 12 million parameters for 1000 classes."""

    def __init__(
        self, norm: str = "batchnorm", act: str = "relu", num_classes: int = 1000, in_channels: int = 3
    ) -> None:
        layers = LayerFactory(norm, act)
        stem = nn.Sequential(layers.conv_norm_act(in_channels, 64, 7, 2, first=True), nn.MaxPool2d(3, 2, padding=1))
        super().__init__(layers, stem, BasicBlock, (64, 128, 256, 512), (2, 2, 2, 2), num_classes)
