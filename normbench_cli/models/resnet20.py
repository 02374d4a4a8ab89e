"""ResNet-20 for small images (He et al. 2016, section 4.2)."""

from __future__ import annotations

from typing import Literal

from normbench_cli.models._blocks.factory import LayerFactory
from normbench_cli.models._blocks.residual import BasicBlock, Option, ResNet, Shortcut
from normbench_cli.registry import MODELS


@MODELS.register("resnet20", paper="He et al. 2016")
class ResNet20(ResNet):
    """ResNet-20 for 32x32 images: three stages of three blocks, 16, 32 and 64 channels, 0.27 million parameters.

    option: the shortcut at the start of a stage; A has no parameters (stride and zero padding), B is a 1x1
    convolution.
    shortcut: raw, or normalized by its own norm; join: the shortcut is added before the activation, or after it.
    """

    def __init__(
        self,
        norm: str = "batchnorm",
        act: str = "relu",
        num_classes: int = 10,
        in_channels: int = 3,
        option: Option = "A",
        shortcut: Literal["raw", "normalized"] = "raw",
        join: Literal["before_act", "after_act"] = "before_act",
    ) -> None:
        layers = LayerFactory(norm, act)
        stem = layers.conv_norm_act(in_channels, 16, 3, first=True)
        shortcuts = Shortcut(option, normalized=shortcut == "normalized", behind_act=join == "after_act")
        super().__init__(layers, stem, BasicBlock, (16, 32, 64), (3, 3, 3), num_classes, shortcuts)
