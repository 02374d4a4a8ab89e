"""A multilayer perceptron: the smallest network in which norms can be compared."""

from __future__ import annotations

from typing import Annotated

import torch.nn.functional as F
from torch import Tensor, nn

from normbench_cli.models._blocks.factory import LayerFactory
from normbench_cli.registry import MODELS
from normbench_cli.registry.bounds import Bounds, Count, FewCount


@MODELS.register("mlp")
class MLP(nn.Module):
    """A multilayer perceptron: the image as a vector, hidden linear layers with norm and activation, a classifier.

    width: units per hidden layer; depth: number of hidden layers.
    size: images are first resized to size x size (adaptive average pooling), since the number of weights depends on it.
    """

    def __init__(
        self,
        norm: str = "batchnorm",
        act: str = "relu",
        num_classes: int = 10,
        in_channels: int = 3,
        width: Count = 256,
        depth: FewCount = 3,
        size: Annotated[int, Bounds(least=1, most=1024)] = 32,
    ) -> None:
        super().__init__()
        layers = LayerFactory(norm, act)
        self.size = size
        self.hidden = nn.Sequential(layers.linear_norm_act(in_channels * size * size, width, first=True))
        for _ in range(depth - 1):
            self.hidden.append(layers.linear_norm_act(width, width))
        self.classifier = layers.classifier(width, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.classifier(self.hidden(resized(x, self.size).flatten(1)))
        return scores


def resized(x: Tensor, size: int) -> Tensor:
    """Adaptive average pooling.  Enlarging by a whole factor is the same as repeating pixels, which interpolation does
    many times faster than pooling."""
    if x.shape[2:] == (size, size):
        return x
    if size % x.shape[2] == 0 and size % x.shape[3] == 0:
        return F.interpolate(x, size, mode="nearest")
    return F.adaptive_avg_pool2d(x, size)
