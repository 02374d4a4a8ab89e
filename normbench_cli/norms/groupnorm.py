"""Group normalization, between layer and instance normalization."""

from __future__ import annotations

from normbench_cli.norms._batch.group import GroupNormBase, Groups, number_of_groups
from normbench_cli.registry import NORMS
from normbench_cli.registry.bounds import NotNegative


@NORMS.register("groupnorm", aliases=("gn",), paper="Wu & He 2018", placement="after")
class GroupNorm(GroupNormBase):
    """Group normalization: the channels of a sample in groups, each centered and scaled by its own statistics.

        y = gamma (x - mean) / sqrt(var + eps) + beta        over (C / groups, spatial), per sample and group

    Torch's own layer, the same in training and evaluation; a group of one value gives beta.  For the operation before
    it, <W, dL/dW> = 0 over the rows of a group together, not for each row as Lemma 3 of "New Interpretations of
    Normalization Methods" says (E16).

    num_features: channels; eps: added to the variance; affine: learn gamma and beta
    groups: exactly this many, which must divide the channels of every layer; none: for each layer the largest number,
    up to 32, that divides its channels into groups of two or more (its attribute `num_groups`), because a group of one
    channel is instance normalization
    """

    def __init__(self, num_features: int, groups: Groups = None, eps: NotNegative = 1e-5, affine: bool = True) -> None:
        super().__init__(number_of_groups(groups, num_features), num_features, eps, affine)
