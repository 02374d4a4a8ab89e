"""Empirical risk minimization."""

from __future__ import annotations

from torch import Tensor, nn

from normbench_cli.registry import OBJECTIVES


@OBJECTIVES.register("erm")
class ERM(nn.Module):
    """The mean of all losses."""

    def forward(self, losses: Tensor) -> Tensor:
        return losses.mean()
