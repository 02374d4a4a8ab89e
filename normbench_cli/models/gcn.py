"""The graph convolutional network (Kipf & Welling 2017) in the form of GraphNorm's code, and the frame it stands in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn

from normbench_cli.models._blocks.factory import Layers
from normbench_cli.models._blocks.graph import Batch, Dropout, product, sum_of_nodes
from normbench_cli.models._blocks.onednn_linear import OneDNNLinear
from normbench_cli.registry import MODELS

Counting = Literal["graphnorm", "paper"]


class GraphConvolution(nn.Module):
    """y = D^-1/2 (A + I) D^-1/2 x W + b: torch_geometric's GCNConv, with the sums over neighbours on the narrower side
    and the weights of the edges computed once."""

    def __init__(self, linear: nn.Module, inputs: int, outputs: int, bias: bool) -> None:
        super().__init__()
        self.linear = linear
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None
        self._sum_first = inputs < outputs

    def forward(self, x: Tensor, batch: Batch) -> Tensor:
        spread = batch.adjacency
        y: Tensor = self.linear(product(spread, x)) if self._sum_first else product(spread, self.linear(x))
        return y if self.bias is None else y + self.bias


class GraphClassifier(nn.Module):
    """Blocks with a residual sum from the second on, the sum over each graph's nodes after the last, a linear layer,
    and dropout of the scores (GraphNorm's code has it there).

    counting: `graphnorm` makes n_layers - 1 blocks, as its code does; `paper` makes n_layers.
    """

    def __init__(
        self,
        block: Callable[[int, bool], nn.Module],
        classifier: nn.Module,
        in_channels: int,
        hidden: int,
        n_layers: int,
        counting: Counting,
        dropout: float,
    ) -> None:
        super().__init__()
        blocks = n_layers - 1 if counting == "graphnorm" else n_layers
        if blocks < 1 or hidden < 1:
            raise ValueError(f"n_layers is {n_layers} and hidden {hidden}: at least one layer of one unit is needed")
        self.blocks = nn.ModuleList(block(hidden if index else in_channels, index == 0) for index in range(blocks))
        self.classifier = classifier
        self.dropout = Dropout(dropout)

    def forward(self, batch: Batch) -> Tensor:
        x: Tensor = self.blocks[0](batch.features, batch)
        for block in list(self.blocks)[1:]:
            x = block(x, batch) + x
        scores: Tensor = self.dropout(self.classifier(sum_of_nodes(x, batch)))
        return scores


@MODELS.register("gcn", paper="Kipf & Welling 2017; Cai et al. 2021", graphs=True)
class GCN(GraphClassifier):
    """Graph convolutional network of GraphNorm and AugNorm: 4 graph convolutions of 64 units for n_layers=5.

    n_layers, counting: `graphnorm` counts the classifier as a layer, `paper` does not; hidden: units of a layer;
    dropout: of the scores (the AugNorm paper prints 0.05).
    """

    def __init__(
        self,
        norm: str = "batchnorm",
        act: str = "relu",
        num_classes: int = 2,
        in_channels: int = 7,
        n_layers: int = 5,
        counting: Counting = "graphnorm",
        hidden: int = 64,
        dropout: float = 0.5,
    ) -> None:
        layers = Layers(norm, act)

        def block(inputs: int, first: bool) -> nn.Module:
            def op(bias: bool) -> nn.Module:
                linear = OneDNNLinear(inputs, hidden, bias=False)
                nn.init.xavier_uniform_(linear.weight)
                return GraphConvolution(layers.weights(linear), inputs, hidden, bias)

            return layers.graph(op, inputs, hidden, first=first)

        classifier = layers.classifier(hidden, num_classes)
        super().__init__(block, classifier, in_channels, hidden, n_layers, counting, dropout)
