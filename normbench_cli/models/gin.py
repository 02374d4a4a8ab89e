"""The graph isomorphism network (Xu et al. 2019), as in GraphNorm's code."""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor, nn

from normbench_cli.models._blocks.factory import LayerFactory
from normbench_cli.models._blocks.graph import GraphInput, GraphSequence, PerNode, symmetric_spmm
from normbench_cli.models._blocks.graph_classifier import Counting, GraphClassifier
from normbench_cli.models._blocks.onednn_linear import OneDNNLinear
from normbench_cli.registry import MODELS
from normbench_cli.registry.bounds import Bounds, FewCount, PartialShare


class NeighborSum(nn.Module):
    """(1 + eps) x + the sum of the neighbors' x, equal to torch_geometric's GINConv without its network.

    self_loops: a node is also its own neighbor, so x is added once more.
    """

    def __init__(self, learn_eps: bool, self_loops: bool = False) -> None:
        super().__init__()
        self.self_loops = self_loops
        self.eps = nn.Parameter(torch.zeros(1)) if learn_eps else None

    def forward(self, x: Tensor, batch: GraphInput) -> Tensor:
        y = symmetric_spmm(batch.adjacency, x)
        if self.self_loops:
            y = y + x
        return y if self.eps is None else y + self.eps * x


@MODELS.register("gin", paper="Xu et al. 2019; Cai et al. 2021", graphs=True, revision=2)
class GIN(GraphClassifier):
    """Graph isomorphism network: sums over neighbors, each followed by two linear layers with norm and activation.

    n_layers, counting: as for gcn; hidden: units per layer; dropout: on the logits;
    learn_eps: learn a node's extra weight in its own sum; self_loops: every node is also its own neighbor, as in all
    runs of GraphNorm's code, so that its weight is 2 + eps; in the paper of Xu et al. it is 1 + eps.
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
        learn_eps: bool = True,
        self_loops: bool = True,
    ) -> None:
        layers = LayerFactory(norm, act)

        def linear(inputs: int, first: bool) -> nn.Module:
            def op(bias: bool) -> nn.Module:
                return PerNode(layers.with_weight_norms(OneDNNLinear(inputs, hidden, bias=bias)))

            return layers.graph_op(op, inputs, hidden, first=first)

        def make_block(inputs: int, first: bool) -> nn.Module:
            return GraphSequence(NeighborSum(learn_eps, self_loops), linear(inputs, first), linear(hidden, False))

        classifier = layers.classifier(hidden, num_classes)
        super().__init__(make_block, classifier, in_channels, hidden, n_layers, counting, dropout)
