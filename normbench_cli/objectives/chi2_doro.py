"""The chi-square objective without the largest losses."""

from __future__ import annotations

from torch import Tensor, nn

from normbench_cli.objectives._worst_case import chi2_mean, outlier_count, sort_descending
from normbench_cli.registry import OBJECTIVES
from normbench_cli.registry.bounds import PartialShare, PositiveShare


@OBJECTIVES.register("chi2_doro", paper="Zhai et al. 2021 (DORO)")
class Chi2DORO(nn.Module):
    """The chi-square objective after a fraction eps of the largest losses is dropped as outliers.

        loss = min over eta of  C sqrt(mean (l_i - eta)_+^2) + eta   over the B - int(eps B) smallest losses

    eta is exact and the gradient never vanishes, as in `chi2`.  eps = 0 is `chi2`.

    alpha: the smallest fraction of the data on which to perform well, above 0 and at most 1
    eps: the fraction dropped, from 0 to below 1
    """

    def __init__(self, alpha: PositiveShare = 0.25, eps: PartialShare = 0.01) -> None:
        super().__init__()
        self.alpha = alpha
        self.eps = eps

    def forward(self, losses: Tensor) -> Tensor:
        ordered = sort_descending(losses)
        return chi2_mean(ordered[outlier_count(len(ordered), self.eps) :], self.alpha)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha:g}, eps={self.eps:g}"
