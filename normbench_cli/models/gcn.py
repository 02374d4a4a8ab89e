"""The graph convolutional network (Kipf & Welling 2017), as in GraphNorm's code."""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor, nn

from normbench_cli.models._blocks.factory import LayerFactory
from normbench_cli.models._blocks.graph import GraphInput, symmetric_spmm
from normbench_cli.models._blocks.graph_classifier import Counting, GraphClassifier
from normbench_cli.models._blocks.onednn_linear import OneDNNLinear
from normbench_cli.registry import MODELS
from normbench_cli.registry.bounds import Bounds, FewCount, PartialShare


class GraphConvolution(nn.Module):
    """y = D^-1/2 (A + I) D^-1/2 x W + b, equal to torch_geometric's GCNConv.

    Edge weights are computed once per data set, and neighbors are summed on the narrower side of W.
    """

    def __init__(self, linear: nn.Module, inputs: int, outputs: int, bias: bool) -> None:
        super().__init__()
        self.linear = linear
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None
        self._sum_first = inputs < outputs

    def forward(self, x: Tensor, batch: GraphInput) -> Tensor:
        matrix = batch.normalized_adjacency
        y: Tensor = (
            self.linear(symmetric_spmm(matrix, x)) if self._sum_first else symmetric_spmm(matrix, self.linear(x))
        )
        return y if self.bias is None else y + self.bias


@MODELS.register("gcn", paper="Kipf & Welling 2017; Cai et al. 2021", graphs=True)
class GCN(GraphClassifier):
    """Graph convolutional network of GraphNorm and AugNorm: 4 graph convolutions of 64 units for n_layers=5.

    n_layers, counting: `graphnorm` counts the classifier as a layer, `paper` does not; hidden: units per layer;
    dropout: on the logits (the AugNorm paper states 0.05).
    """

    def __init__(
        self,
        norm: str = "batchnorm",
        act: str = "relu",
        num_classes: int = 2,
        in_channels: int = 7,
        n_layers: FewCount = 5,
        counting: Counting = "graphnorm",
        hidden: Annotated[int, Bounds(least=1, most=1_000_000)] = 64,
        dropout: PartialShare = 0.5,
    ) -> None:
        layers = LayerFactory(norm, act)

        def make_block(inputs: int, first: bool) -> nn.Module:
            def op(bias: bool) -> nn.Module:
                linear = OneDNNLinear(inputs, hidden, bias=False)
                nn.init.xavier_uniform_(linear.weight)
                return GraphConvolution(layers.with_weight_norms(linear), inputs, hidden, bias)

            return layers.graph_op(op, inputs, hidden, first=first)

        classifier = layers.classifier(hidden, num_classes)
        super().__init__(make_block, classifier, in_channels, hidden, n_layers, counting, dropout)
