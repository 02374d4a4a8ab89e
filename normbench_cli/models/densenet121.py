"""DenseNet-121 for small images: every layer reads the outputs of all layers before it in its stage."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from normbench_cli.models._blocks.factory import LayerFactory
from normbench_cli.models._blocks.pooling import global_avg_pool
from normbench_cli.registry import MODELS

GROWTH = 32
DEPTHS = (6, 12, 24, 16)


class DenseLayer(nn.Module):
    """Adds GROWTH channels to its input: a 1x1 convolution to 4 GROWTH channels, then a 3x3 one, in pre-activation
    order."""

    def __init__(self, layers: LayerFactory, inputs: int) -> None:
        super().__init__()
        self.branch = nn.Sequential(
            layers.norm_act_conv(inputs, 4 * GROWTH, 1), layers.norm_act_conv(4 * GROWTH, GROWTH, 3)
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat((self.branch(x), x), 1)  # the only copy: the next norm needs one tensor


@MODELS.register("densenet121", paper="Huang et al. 2017")
class DenseNet121(nn.Module):
    """DenseNet-121 for 32x32 images: 58 dense layers in four stages, 7 million parameters."""

    def __init__(self, norm: str = "batchnorm", act: str = "relu", num_classes: int = 10, in_channels: int = 3) -> None:
        super().__init__()
        layers = LayerFactory(norm, act)
        features = 2 * GROWTH
        self.stem = layers.norm_act_conv(in_channels, features, 3, first=True)
        self.stages = nn.Sequential()
        for stage, depth in enumerate(DEPTHS):
            if stage > 0:  # a transition halves the channels and the image
                self.stages.append(nn.Sequential(layers.norm_act_conv(features, features // 2, 1), nn.AvgPool2d(2)))
                features //= 2
            self.stages.append(nn.Sequential(*(DenseLayer(layers, features + i * GROWTH) for i in range(depth))))
            features += depth * GROWTH
        self.end = layers.norm_act(features)
        self.classifier = layers.classifier(features, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.classifier(global_avg_pool(self.end(self.stages(self.stem(x)))))
        return scores
