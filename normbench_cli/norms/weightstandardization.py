"""Weight standardization: filters of mean zero and standard deviation one."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn
from torch.nn.utils.parametrize import register_parametrization

from normbench_cli.norms._weights.filters import centered, filter_axis, norm_of_filters
from normbench_cli.registry import NORMS

EPS = 1e-5  # added to the standard deviation, as the authors do
SMALLEST = 1e-12


class Standardized(nn.Module):
    """w -> (w - mean) / sd, over each filter."""

    def __init__(self, axis: int, form: str) -> None:
        super().__init__()
        self.axis = axis
        self.form = form

    def forward(self, weight: Tensor) -> Tensor:
        values = weight.numel() // weight.shape[self.axis]
        d = centered(weight, self.axis)
        length = norm_of_filters(d, self.axis)
        if self.form == "paper":
            sd: Tensor = (length / values**0.5).clamp_min(SMALLEST)
        else:
            sd = length / max(values - 1, 1) ** 0.5 + EPS
        return (d / sd).to(weight.dtype)

    def right_inverse(self, weight: Tensor) -> Tensor:
        return weight


@NORMS.register(
    "weightstandardization", aliases=("ws",), paper="Qiao et al. 2019", placement="weight", only_before_norms=True
)
def weightstandardization(op: nn.Module, form: Literal["official", "paper"] = "official") -> nn.Module:
    """Weight standardization: every filter has mean zero and standard deviation one.

        w = (v - mean(v)) / (sd(v) + 1e-5)        per filter, sd unbiased

    Made for operations that a norm follows (`ws+gn`): alone it lets the outputs grow with the size of the filters.
    "New Interpretations of Normalization Methods" prints the biased sd without eps, and WS = sqrt(n) CWN, which holds
    for that form only; with the unbiased sd of the authors' code the factor is sqrt(n - 1) (E18).

    op: the convolution or linear layer; changed in place and returned
    form: official (unbiased sd, 1e-5) or paper (biased sd, no eps)
    """
    if form not in ("official", "paper"):
        raise ValueError(f"form = {form} is unknown: use official or paper")
    register_parametrization(op, "weight", Standardized(filter_axis(op), form))
    return op
