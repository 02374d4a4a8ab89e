"""EfficientNet-B0 for small images: inverted residual blocks with squeeze and excitation."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normbench_cli.models._blocks.factory import LayerFactory
from normbench_cli.models._blocks.pooling import global_avg_pool
from normbench_cli.registry import MODELS
from normbench_cli.registry.bounds import PartialShare

# for each stage: expansion, channels, blocks, kernel, stride of the first block
STAGES = (
    (1, 16, 1, 3, 1),
    (6, 24, 2, 3, 2),
    (6, 40, 2, 5, 2),
    (6, 80, 3, 3, 2),
    (6, 112, 3, 5, 1),
    (6, 192, 4, 5, 2),
    (6, 320, 1, 3, 1),
)
BLOCKS = sum(blocks for _, _, blocks, _, _ in STAGES)


class SqueezeExcite(nn.Module):
    """Squeeze and excitation: multiplies every channel by a factor in 0-1, computed from the means of all channels.

    As in the reference, its two convolutions have no norm: they see one pixel and are not part of the main path.
    """

    def __init__(self, layers: LayerFactory, features: int, squeezed: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(features, squeezed, 1)
        self.excite = nn.Conv2d(squeezed, features, 1)
        self.act = layers.activation()

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = x * self.excite(self.act(self.squeeze(global_avg_pool(x)[:, :, None, None]))).sigmoid()
        return y


class InvertedResidual(nn.Module):
    """Expand (1x1), depthwise convolution, squeeze and excitation, project (1x1); plus the input if the shape is equal.

    drop: rate at which training drops an example's branch (stochastic depth).
    """

    def __init__(
        self, layers: LayerFactory, inputs: int, outputs: int, kernel: int, stride: int, expansion: int, drop: float
    ) -> None:
        super().__init__()
        width = inputs * expansion
        self.expands = expansion > 1
        self.drop = drop
        self.expand = layers.conv_norm_act(inputs, width, 1)
        if not self.expands:
            # The reference has this convolution and its norm, but never runs them.  They count as parameters and are
            # frozen, since they get no gradient.
            self.expand.requires_grad_(False)
        self.depthwise = layers.conv_norm_act(width, width, kernel, stride, groups=width)
        self.gate = SqueezeExcite(layers, width, inputs // 4)
        self.project = layers.conv_norm_act(width, outputs, 1, act=False)
        self.skips = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        y = self.expand(x) if self.expands else x
        y = self.gate(self.depthwise(y))
        branch: Tensor = self.project(y)
        if not self.skips:
            return branch
        return x + (drop_path(branch, self.drop) if self.training and self.drop > 0 else branch)


def drop_path(x: Tensor, rate: float) -> Tensor:
    """Zero whole examples at this rate and scale up the others.  Not in place: a norm may need its output again."""
    kept = torch.empty(len(x), 1, 1, 1, dtype=x.dtype, device=x.device).bernoulli_(1 - rate)
    return x * (kept / (1 - rate))


@MODELS.register("efficientnetb0", paper="Tan & Le 2019")
class EfficientNetB0(nn.Module):
    """EfficientNet-B0 for 32x32 images: 16 gated inverted residual blocks, 3.6 million parameters; its own act is silu.

    dropout: rate before the classifier
    drop_connect: stochastic-depth rate: block i of 16 (from 0) drops an example's branch at drop_connect * i / 16, if
        it has a shortcut.  The public reference intends 0.2 but never counts its blocks, so its actual rate is 0, as in
        the suite of AugNorm's table 1.
    """

    def __init__(
        self,
        norm: str = "batchnorm",
        act: str = "silu",
        num_classes: int = 10,
        in_channels: int = 3,
        dropout: PartialShare = 0.2,
        drop_connect: PartialShare = 0.2,
    ) -> None:
        super().__init__()
        layers = LayerFactory(norm, act)
        self.stem = layers.conv_norm_act(in_channels, 32, 3, first=True)
        self.blocks = nn.Sequential()
        inputs = 32
        for expansion, outputs, blocks, kernel, first_stride in STAGES:
            for stride in (first_stride, *[1] * (blocks - 1)):
                drop = drop_connect * len(self.blocks) / BLOCKS
                self.blocks.append(InvertedResidual(layers, inputs, outputs, kernel, stride, expansion, drop))
                inputs = outputs
        self.dropout = dropout
        self.classifier = layers.classifier(inputs, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        features = global_avg_pool(self.blocks(self.stem(x)))
        scores: Tensor = self.classifier(F.dropout(features, self.dropout, self.training))
        return scores
