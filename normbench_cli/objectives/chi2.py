"""The largest mean loss over all reweightings within a chi-square distance of the data."""

from __future__ import annotations

from torch import Tensor, nn

from normbench_cli.objectives._worst_case import chi2_mean, sort_descending
from normbench_cli.registry import OBJECTIVES
from normbench_cli.registry.bounds import PositiveShare


@OBJECTIVES.register("chi2", paper="Hashimoto et al. 2018")
class Chi2(nn.Module):
    """The worst mean loss over reweightings of the batch within a chi-square ball.

        loss = min over eta of  C sqrt(mean (l_i - eta)_+^2) + eta,   C = sqrt(1 + (1/alpha - 1)^2)

    which is the largest sum q_i l_i with (1/2) mean (B q_i - 1)^2 <= (1/2) (1/alpha - 1)^2.  (The AugNorm paper prints
    the distance without its 1/2; its radius and its C need it, E8.)  eta is computed exactly, by sorting; the reference
    code searches for it between 0 and 10.  If eta reaches the largest loss (all equal, or B < C^2), the gradient is
    that of the largest loss; the printed expression has none there.  alpha = 1 is the plain mean.

    alpha: the smallest fraction of the data on which to perform well, above 0 and at most 1.
    """

    def __init__(self, alpha: PositiveShare = 0.25) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, losses: Tensor) -> Tensor:
        return chi2_mean(sort_descending(losses), self.alpha)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha:g}"
