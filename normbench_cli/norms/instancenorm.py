"""Instance normalization: every channel of every sample on its own."""

from __future__ import annotations

from normbench_cli.norms._batch.group import GroupNormBase
from normbench_cli.registry import NORMS
from normbench_cli.registry.bounds import NotNegative


@NORMS.register("instancenorm", aliases=("in",), paper="Ulyanov et al. 2016", placement="after", removes_mean=True)
class InstanceNorm(GroupNormBase):
    """Instance normalization: every channel of every sample centered and scaled by its own statistics.

        y = gamma (x - mean) / sqrt(var + eps) + beta        over (spatial), per sample and channel

    Equals torch's InstanceNorm without running statistics, the same in training and evaluation.  Computed as groups of
    one channel, which preserves the channels-last memory format.  An instance of one value, as in a network without
    spatial dimensions, is its own mean: y = beta and the gradient is 0, where torch's layer refuses to train.

    num_features: channels; eps: added to the variance; affine: learn gamma and beta (torch's default is not to)
    """

    def __init__(self, num_features: int, eps: NotNegative = 1e-5, affine: bool = True) -> None:
        super().__init__(num_features, num_features, eps, affine)
