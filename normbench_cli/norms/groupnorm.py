"""Group normalization: between layer and instance normalization."""

from __future__ import annotations

from normbench_cli.norms._batch.group import GroupNormBase, fitting_groups
from normbench_cli.registry import NORMS


@NORMS.register("groupnorm", aliases=("gn",), paper="Wu & He 2018", placement="after")
class GroupNorm(GroupNormBase):
    """Group normalization: the channels of a sample in groups, each centred and scaled by its own statistics.

        y = gamma (x - mean) / sqrt(var + eps) + beta        over (C / groups, spatial), per sample and group

    Torch's own layer, the same in training and evaluation; a group of one value gives beta.  Operations before it:
    <W, dL/dW> = 0 for the rows of a group together, not for each row as Lemma 3 of "New Interpretations of
    Normalization Methods" says (E16).

    num_features: channels; groups: at most so many, the largest number of them that divides the channels;
    eps: added to the variance; affine: learn gamma and beta.
    """

    def __init__(self, num_features: int, groups: int = 32, eps: float = 1e-5, affine: bool = True) -> None:
        super().__init__(fitting_groups(groups, num_features), num_features, eps=eps, affine=affine)
        self.num_features = num_features
