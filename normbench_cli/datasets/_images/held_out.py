"""Which examples of a training set are held out for validation."""

from __future__ import annotations

import torch
from torch import Tensor


def held_out(labels: Tensor, fraction: float, seed: int) -> tuple[Tensor, Tensor]:
    """Return the indices kept for training and those held out, each sorted.

    This fraction of every class is held out, rounded to whole examples; the seed determines which.
    """
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    shown = labels[order]
    by_class = [order[shown == label] for label in labels.unique()]
    held = torch.cat([examples[: round(fraction * len(examples))] for examples in by_class])
    kept = torch.cat([examples[round(fraction * len(examples)) :] for examples in by_class])
    if not len(held) or not len(kept):
        raise ValueError(f"of {len(labels)} examples, {len(held)} are held out and {len(kept)} are left")
    return kept.sort().values, held.sort().values
