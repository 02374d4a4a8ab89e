"""Conditional value at risk: the mean of the largest losses."""

from __future__ import annotations

from torch import Tensor, nn

from normbench_cli.objectives._worst_case import sort_descending
from normbench_cli.registry import OBJECTIVES
from normbench_cli.registry.bounds import PositiveShare


@OBJECTIVES.register("cvar", paper="Rockafellar & Uryasev 2000")
class CVaR(nn.Module):
    """The mean of the largest losses, a fraction alpha of them.

        loss = mean of the k largest l_i,   k = int(alpha B)

    k is rounded as in the reference code of Zhai et al. 2021 (DORO), except that one loss always counts.
    alpha = 1 is the plain mean.

    alpha: the fraction that counts, above 0 and at most 1.
    """

    def __init__(self, alpha: PositiveShare = 0.1) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, losses: Tensor) -> Tensor:
        ordered = sort_descending(losses)
        return ordered[: max(1, int(self.alpha * len(ordered)))].mean()

    def extra_repr(self) -> str:
        return f"alpha={self.alpha:g}"
