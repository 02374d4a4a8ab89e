"""Conditional value at risk with the largest losses left out."""

from __future__ import annotations

from torch import Tensor, nn

from normbench_cli.objectives._worst_case import check_share, dropped, from_the_worst
from normbench_cli.registry import OBJECTIVES


@OBJECTIVES.register("cvar_doro", paper="Zhai et al. 2021 (DORO)")
class CVaRDORO(nn.Module):
    """The mean of the worst share alpha of the losses, after a share eps of the very largest is dropped as outliers.

        loss = sum of l_(n2+1) .. l_(n1) / (alpha (B - n2))        l_(1) >= l_(2) >= ...
        n1 = int((eps + alpha (1-eps)) B),   n2 = int(eps B)

    Sizes and divisor as in the authors' code, so the weights sum to 1 only up to their rounding; where that leaves no
    loss, the largest one not dropped counts alone.  eps = 0 is `cvar`, divided by the number of losses summed.

    alpha: the share that counts, above 0 and at most 1; eps: the share dropped, from 0 to below 1.
    """

    def __init__(self, alpha: float = 0.2, eps: float = 0.005) -> None:
        super().__init__()
        check_share(alpha, eps)
        self.alpha, self.eps = alpha, eps

    def forward(self, losses: Tensor) -> Tensor:
        ordered = from_the_worst(losses)
        n = len(ordered)
        leave = dropped(n, self.eps)
        last = n if self.alpha == 1 else int((self.eps + self.alpha * (1 - self.eps)) * n)
        counted = ordered[leave : max(last, leave + 1)]
        if self.eps == 0 or last <= leave:
            return counted.mean()
        return counted.sum() / (self.alpha * (n - leave))

    def extra_repr(self) -> str:
        return f"alpha={self.alpha:g}, eps={self.eps:g}"
