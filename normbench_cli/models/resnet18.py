"""ResNet-18 for small images: the network of He et al. 2016 with a 3x3 stem that keeps the image's size."""

from __future__ import annotations

from normbench_cli.models._blocks.residual import BasicBlock, SmallImageResNet
from normbench_cli.registry import MODELS


@MODELS.register("resnet18", paper="He et al. 2016")
class ResNet18(SmallImageResNet):
    """ResNet-18 for 32x32 images: four stages of two blocks, 64 to 512 channels, 11 million parameters."""

    block = BasicBlock
    depths = (2, 2, 2, 2)
