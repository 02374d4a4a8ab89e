"""No normalization: the reference that every norm's cost is measured against."""

from __future__ import annotations

from torch import Tensor, nn

from normbench_cli.registry import NORMS


@NORMS.register("none", aliases=("identity",), placement="after")
class NoNorm(nn.Module):
    """No normalization; the operation keeps its bias.

    y = x
    """

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.num_features = num_features

    def forward(self, x: Tensor) -> Tensor:
        return x
