"""Weight normalization: length and direction of every filter are learned separately."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.utils.parametrize import register_parametrization

from normbench_cli.norms._weights.filters import filter_axis, norm_of_filters
from normbench_cli.registry import NORMS

SMALLEST = 1e-12


class LengthAndDirection(nn.Module):
    """(g, v) -> g v / ||v||, initially with g = ||v||."""

    def __init__(self, axis: int) -> None:
        super().__init__()
        self.axis = axis

    def forward(self, g: Tensor, v: Tensor) -> Tensor:
        return (v * (g / norm_of_filters(v, self.axis).clamp_min(SMALLEST))).to(v.dtype)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_of_filters(weight, self.axis).to(weight.dtype), weight


@NORMS.register("weightnorm", aliases=("wn",), paper="Salimans & Kingma 2016", placement="weight")
def weightnorm(op: nn.Module) -> nn.Module:
    """Weight normalization: the length and the direction of every filter are parameters of their own.

        w = g v / ||v||_2        per filter, initially g = ||v||

    Torch's parametrization gives NaN for a filter of zeros.  Here ||v|| is at least 1e-12, so such a filter stays zero;
    everywhere else the two agree to rounding.  A transposed convolution's filters lie along its second dimension.

    op: the convolution or linear layer; changed in place and returned
    """
    register_parametrization(op, "weight", LengthAndDirection(filter_axis(op)))
    return op
