"""Layer normalization for convolutional networks: each sample is one group."""

from __future__ import annotations

from normbench_cli.norms._batch.group import GroupNormBase
from normbench_cli.registry import NORMS
from normbench_cli.registry.bounds import NotNegative


@NORMS.register("layernorm", aliases=("ln",), paper="Ba et al. 2016", placement="after")
class LayerNorm(GroupNormBase):
    """Layer normalization: every sample centered and scaled by its own statistics over all channels and positions.

        y = gamma (x - mean) / sqrt(var + eps) + beta        over (C, spatial), per sample

    Torch's GroupNorm with one group, the same in training and evaluation; gamma and beta are per channel, so that the
    layer does not depend on the size of the image.  For the operation before it, <W, dL/dW> = 0 for the layer as a
    whole, not for each row as Lemma 3 of "New Interpretations of Normalization Methods" says (E16).

    num_features: channels; eps: added to the variance; affine: learn gamma and beta
    """

    def __init__(self, num_features: int, eps: NotNegative = 1e-5, affine: bool = True) -> None:
        super().__init__(1, num_features, eps, affine)
