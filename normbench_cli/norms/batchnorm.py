"""Batch normalization, as torch computes it, for any number of dimensions."""

from __future__ import annotations

from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from normbench_cli.registry import NORMS
from normbench_cli.registry.bounds import Positive, Share


@NORMS.register(
    "batchnorm", aliases=("bn",), paper="Ioffe & Szegedy 2015", placement="after", needs_batch=True, removes_mean=True
)
class BatchNorm(_BatchNorm):
    """Batch normalization: every channel centered and scaled by the batch's own statistics.

        y = gamma (x - mean) / sqrt(var + eps) + beta        over (N, spatial), per channel

    Torch's own layer: it normalizes with the biased variance and stores the unbiased one.

    num_features: channels; eps: added to the variance; affine: learn gamma and beta
    momentum: weight of the new batch in the running statistics
    """

    def __init__(self, num_features: int, eps: Positive = 1e-5, momentum: Share = 0.1, affine: bool = True) -> None:
        super().__init__(num_features, eps=eps, momentum=momentum, affine=affine)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"batchnorm needs an input (N, C, ...), not one of {input.dim()} dimension(s)")
