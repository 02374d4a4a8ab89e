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

    width: units of a hidden layer; depth: hidden layers.
    size: images are resized to size x size first (adaptive average pooling), since the number of weights depends on it.
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
        if x.shape[2:] != (self.size, self.size):
            x = F.adaptive_avg_pool2d(x, self.size)
        scores: Tensor = self.classifier(self.hidden(x.flatten(1)))
        return scores
