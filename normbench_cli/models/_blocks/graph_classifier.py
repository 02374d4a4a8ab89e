"""The base of GCN and GIN, as in GraphNorm's code: blocks of layers, a sum over nodes, a classifier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn

from normbench_cli.models._blocks.graph import Dropout, GraphInput, global_add_pool

Counting = Literal["graphnorm", "paper"]
MakeBlock = Callable[[int, bool], nn.Module]  # (number of input features, whether it is the first) -> a block


class GraphClassifier(nn.Module):
    """Blocks with a residual sum from the second on, the sum over each graph's nodes, a linear layer, and dropout on
    the logits (where GraphNorm's code has it).

    counting: `graphnorm` makes n_layers - 1 blocks, as GraphNorm's code does; `paper` makes n_layers.
    """

    def __init__(
        self,
        make_block: MakeBlock,
        classifier: nn.Module,
        in_channels: int,
        hidden: int,
        n_layers: int,
        counting: Counting,
        dropout: float,
    ) -> None:
        super().__init__()
        blocks = n_layers - 1 if counting == "graphnorm" else n_layers
        if blocks < 1:
            raise ValueError(
                f"n_layers is {n_layers}, of which the classifier is one: give 2 or more, or counting=paper"
            )
        self.blocks = nn.ModuleList(make_block(hidden if index else in_channels, index == 0) for index in range(blocks))
        self.classifier = classifier
        self.dropout = Dropout(dropout)

    def forward(self, batch: GraphInput) -> Tensor:
        x: Tensor = self.blocks[0](batch.features, batch)
        for block in list(self.blocks)[1:]:
            x = block(x, batch) + x
        scores: Tensor = self.dropout(self.classifier(global_add_pool(x, batch)))
        return scores
