"""Images of a test set under a corruption, and the scores on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import torch
from torch import Tensor, nn

from normbench_cli.corruptions.base import SEVERITIES, Corruption
from normbench_cli.corruptions.cases import CorruptionCase
from normbench_cli.datasets._images.batches import Standardize
from normbench_cli.engine.evaluate import score_each
from normbench_cli.engine.protocols import ImageData
from normbench_cli.engine.training import Training
from normbench_cli.registry import CORRUPTIONS


class Corrupted:
    """A pixel corruption applied to standardized inputs, which must come in the order of the test set."""

    def __init__(self, corruption: Corruption, data: ImageData, device: torch.device) -> None:
        self._corruption = corruption
        self._next = 0  # index of the next image in the test set
        self._standardize = Standardize(data.mean, data.std, device)
        self._mean, self._std = (torch.tensor(t, device=device).view(-1, 1, 1) for t in (data.mean, data.std))

    def __call__(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        pixels = ((x * self._std + self._mean) * 255).round().clamp(0, 255).to(torch.uint8)
        corrupted = self._corruption(pixels, self._next)
        self._next += len(x)
        return torch.empty_like(x).copy_(self._standardize(corrupted))  # keeps the memory format of x


def score_corrupted(training: Training, data: ImageData, cases: Sequence[CorruptionCase]) -> dict[str, float]:
    """Scores under one corruption at the given severities, and the mean error if these are all severities."""
    corrupted = [Corrupted(CORRUPTIONS.build(case.spec), data, training.device) for case in cases]
    metrics: dict[str, float] = {}
    errors: dict[int, float] = {}
    for case, scores in zip(cases, score_each(training, training.test, corrupted), strict=True):
        metrics |= {f"test/{name}@{case.spec}": value for name, value in scores.items()}
        errors[case.severity] = 1 - scores["accuracy"]
    if len(errors) == len(SEVERITIES):
        metrics[f"test/corruption_error@{cases[0].kind}"] = fmean(errors.values())
    return metrics


def mean_errors(errors: Mapping[CorruptionCase, float]) -> dict[str, float]:
    """For each group with more than one corruption: the mean error, and the number of corruptions in it.

    errors: of the corruptions that were measured at all severities, each keyed by one of its cases.
    """
    metrics: dict[str, float] = {}
    for group in dict.fromkeys(case.group for case in errors):
        counted = [error for case, error in errors.items() if case.group == group and case.in_mean]
        if len(counted) > 1:
            where = f"@{group}" if group else ""
            metrics[f"test/mean_corruption_error{where}"] = fmean(counted)
            metrics[f"test/corruptions_in_mean{where}"] = len(counted)
    return metrics
