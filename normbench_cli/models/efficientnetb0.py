"""EfficientNet-B0 for small images: inverted residual blocks with a gate on every channel."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normbench_cli.models._blocks.factory import LayerFactory
from normbench_cli.models._blocks.pooling import global_avg_pool
from normbench_cli.registry import MODELS

# expansion, channels, blocks, kernel, stride of the first
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


class Gate(nn.Module):
    """Squeeze and excite: every channel times a number in 0-1 that is made from the means of all channels.

    Its two small convolutions see one pixel and are no part of the main path: plain, as in the reference.
    """

    def __init__(self, layers: LayerFactory, features: int, squeezed: int) -> None:
        super().__init__()
        self.squeeze, self.excite = nn.Conv2d(features, squeezed, 1), nn.Conv2d(squeezed, features, 1)
        self.act = layers.activation()

    def forward(self, x: Tensor) -> Tensor:
        return x * self.excite(self.act(self.squeeze(global_avg_pool(x)[:, :, None, None]))).sigmoid()


class Block(nn.Module):
    """Widen, convolve each channel, gate, narrow; plus the input where the shape is the same, dropped at a rate."""

    def __init__(
        self, layers: LayerFactory, inputs: int, outputs: int, kernel: int, stride: int, expansion: int, drop: float
    ) -> None:
        super().__init__()
        width = inputs * expansion
        self.widens, self.drop = expansion > 1, drop
        self.expand = layers.conv_norm_act(inputs, width, 1)
        if not self.widens:
            # The reference owns this convolution and its norm without running them, and they are in its known count of
            # parameters.  Frozen, since what never runs gets no gradient.
            self.expand.requires_grad_(False)
        self.depthwise = layers.conv_norm_act(width, width, kernel, stride, groups=width)
        self.gate = Gate(layers, width, inputs // 4)
        self.project = layers.conv_norm_act(width, outputs, 1, act=False)
        self.skips = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        y = self.expand(x) if self.widens else x
        y = self.project(self.gate(self.depthwise(y)))
        if not self.skips:
            return y
        return x + (drop_samples(y, self.drop) if self.training and self.drop > 0 else y)


def drop_samples(x: Tensor, rate: float) -> Tensor:
    """Zero whole samples at a rate and scale up the others, out of place: a norm may need its own output again."""
    kept = torch.empty(len(x), 1, 1, 1, dtype=x.dtype, device=x.device).bernoulli_(1 - rate)
    return x * (kept / (1 - rate))


@MODELS.register("efficientnetb0", paper="Tan & Le 2019")
class EfficientNetB0(nn.Module):
    """EfficientNet-B0 for 32x32 images: 16 gated inverted residual blocks, 3.6 million parameters; its own act is silu.

    dropout: rate before the classifier
    drop_connect: rate at which a block's branch is left out for a sample; grows evenly from 0 at the first block.
        The public reference means 0.2 but never counts its blocks, so what it runs is 0.
    """

    def __init__(
        self,
        norm: str = "batchnorm",
        act: str = "silu",
        num_classes: int = 10,
        in_channels: int = 3,
        dropout: float = 0.2,
        drop_connect: float = 0.2,
    ) -> None:
        super().__init__()
        if not (0 <= dropout < 1 and 0 <= drop_connect < 1):
            raise ValueError(f"dropout is {dropout:g} and drop_connect {drop_connect:g}; give rates from 0 to below 1")
        layers = LayerFactory(norm, act)
        self.stem = layers.conv_norm_act(in_channels, 32, 3, first=True)
        self.blocks = nn.Sequential()
        inputs = 32
        for expansion, outputs, number, kernel, first_stride in STAGES:
            for stride in (first_stride, *[1] * (number - 1)):
                drop = drop_connect * len(self.blocks) / BLOCKS
                self.blocks.append(Block(layers, inputs, outputs, kernel, stride, expansion, drop))
                inputs = outputs
        self.dropout = dropout
        self.classifier = layers.classifier(inputs, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        features = global_avg_pool(self.blocks(self.stem(x)))
        return self.classifier(F.dropout(features, self.dropout, self.training))
