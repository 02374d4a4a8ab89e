"""Which fold each example belongs to, and how a fold's examples are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from normbench_cli.errors import UsageError
from normbench_cli.seeds import derive

HoldOut = Callable[[Tensor, int], tuple[Tensor, Tensor]]  # labels, seed -> those that are kept, those held out


class FoldSplits(NamedTuple):
    """Indices of examples: for training, scored after every epoch (validation), scored once at the end (test)."""

    train: Tensor
    validation: Tensor
    test: Tensor


def assign_folds(labels: Tensor, folds: int, seed: int) -> Tensor:
    """Return the fold of each example (N,): scikit-learn's stratified folds, shuffled."""
    smallest = int(torch.bincount(labels).min())
    if not 2 <= folds <= smallest:
        raise UsageError(
            f"folds is {folds}, and the smallest class has {smallest} samples", f"give 2 to {smallest} folds"
        )
    from sklearn.model_selection import StratifiedKFold

    assigned = torch.empty(len(labels), dtype=torch.int64)
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    for fold, (_, validation) in enumerate(splitter.split(labels.numpy(), labels.numpy())):
        assigned[validation] = fold
    return assigned


def fold_splits(
    assigned: Tensor, fold: int, labels: Tensor, hold_out: HoldOut | None, score_test: str, seed: int
) -> FoldSplits:
    """The examples of one fold.

    A plain cross-validation trains on the other folds and scores its own examples after every epoch, as validation.
    Otherwise the fold's own examples are its test set, scored once at the end, or they are unused if they are never
    scored.  With `hold_out`, a part of the other folds is held out for validation.
    """
    own, others, nothing = (assigned == fold).nonzero()[:, 0], (assigned != fold).nonzero()[:, 0], assigned[:0]
    if hold_out is None and score_test == "epoch":
        return FoldSplits(others, own, nothing)
    test = own if score_test == "end" else nothing
    if hold_out is None:
        return FoldSplits(others, nothing, test)
    kept, held = hold_out(labels[others], derive(seed, "fold_validation", fold))
    return FoldSplits(others[kept], others[held], test)
