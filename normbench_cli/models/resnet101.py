"""ResNet-101 for small images: bottleneck blocks and a 3x3 stem that keeps the image's size."""

from __future__ import annotations

from normbench_cli.models._blocks.residual import Bottleneck, SmallImageResNet
from normbench_cli.registry import MODELS


@MODELS.register("resnet101", paper="He et al. 2016")
class ResNet101(SmallImageResNet):
    """ResNet-101 for 32x32 images: 3, 4, 23 and 3 bottleneck blocks, 256 to 2048 channels, 43 million parameters."""

    block = Bottleneck
    depths = (3, 4, 23, 3)
