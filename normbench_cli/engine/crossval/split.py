"""Which fold each example belongs to."""

from __future__ import annotations

import torch
from torch import Tensor

from normbench_cli.errors import UsageError


def assign_folds(labels: Tensor, folds: int, seed: int) -> Tensor:
    """The fold of each example (N,): scikit-learn's stratified folds, shuffled."""
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
