"""The chi-square objective with the largest losses left out."""

from __future__ import annotations

from torch import Tensor, nn

from normbench_cli.objectives._worst_case import check_share, chi2_mean, dropped, from_the_worst
from normbench_cli.registry import OBJECTIVES


@OBJECTIVES.register("chi2_doro", paper="Zhai et al. 2021 (DORO)")
class Chi2DORO(nn.Module):
    """The chi-square objective of what remains when a share eps of the largest losses is dropped as outliers.

        loss = min over eta of  C sqrt(mean (l_i - eta)_+^2) + eta   over the B - int(eps B) smallest losses

    eta is exact and the gradient never vanishes, see `chi2`.  eps = 0 is `chi2`.

    alpha: how small a share of the data to be good on, above 0 and at most 1
    eps: the share dropped, from 0 to below 1
    """

    def __init__(self, alpha: float = 0.25, eps: float = 0.01) -> None:
        super().__init__()
        check_share(alpha, eps)
        self.alpha, self.eps = alpha, eps

    def forward(self, losses: Tensor) -> Tensor:
        ordered = from_the_worst(losses)
        return chi2_mean(ordered[dropped(len(ordered), self.eps) :], self.alpha)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha:g}, eps={self.eps:g}"
