"""Conditional value at risk without the very largest losses."""

from __future__ import annotations

from torch import Tensor, nn

from normbench_cli.objectives._worst_case import outlier_count, sort_descending
from normbench_cli.registry import OBJECTIVES
from normbench_cli.registry.bounds import PartialShare, PositiveShare


@OBJECTIVES.register("cvar_doro", paper="Zhai et al. 2021 (DORO)")
class CVaRDORO(nn.Module):
    """CVaR after a fraction eps of the largest losses is dropped as outliers.

        loss = sum of l_(n2+1) .. l_(n1) / (alpha (B - n2))        l_(1) >= l_(2) >= ...
        n1 = int((eps + alpha (1-eps)) B),   n2 = int(eps B)

    n1, n2 and the divisor are those of the authors' code, so the weights sum to 1 only up to rounding.  If no loss is
    left, the largest one that is not dropped counts alone.  eps = 0 is `cvar`, divided by the number of losses summed.

    alpha: the fraction that counts, above 0 and at most 1; eps: the fraction dropped, from 0 to below 1.
    """

    def __init__(self, alpha: PositiveShare = 0.2, eps: PartialShare = 0.005) -> None:
        super().__init__()
        self.alpha = alpha
        self.eps = eps

    def forward(self, losses: Tensor) -> Tensor:
        ordered = sort_descending(losses)
        n = len(ordered)
        outliers = outlier_count(n, self.eps)
        last = n if self.alpha == 1 else int((self.eps + self.alpha * (1 - self.eps)) * n)
        counted = ordered[outliers : max(last, outliers + 1)]
        if self.eps == 0 or last <= outliers:
            return counted.mean()
        return counted.sum() / (self.alpha * (n - outliers))

    def extra_repr(self) -> str:
        return f"alpha={self.alpha:g}, eps={self.eps:g}"
