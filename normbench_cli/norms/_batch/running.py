"""Running statistics: the base of layers that use the batch in training, a running mean and variance in evaluation."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from normbench_cli.norms._batch.processes import SyncedStatistics


class RunningStatsNorm(SyncedStatistics, nn.Module):
    """A layer for (N, C, ...) with gamma, beta and the buffers of `nn.BatchNorm2d`, whose state dict can be loaded into
    layers without further state.

    A subclass defines `normalize_batch`; the base checks the shape, updates the running statistics in training only,
    and normalizes by them in evaluation.  The running variance is that of the subclass: biased, about the center that
    the subclass returns.

    A subclass synchronizes its statistics over `processes`, if set.

    num_features: C; eps: added to the variance; momentum: weight of the new batch in the running statistics
    weight, bias: learn gamma, beta; tracked: keep running statistics at all
    """

    weight: nn.Parameter | None
    bias: nn.Parameter | None
    running_mean: Tensor  # (C)
    running_var: Tensor  # (C)
    num_batches_tracked: Tensor  # ()

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float,
        *,
        weight: bool = True,
        bias: bool = True,
        tracked: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.weight = nn.Parameter(torch.ones(num_features)) if weight else None
        self.bias = nn.Parameter(torch.zeros(num_features)) if bias else None
        if tracked:
            self.register_buffer("running_mean", torch.zeros(num_features))
            self.register_buffer("running_var", torch.ones(num_features))
            self.register_buffer("num_batches_tracked", torch.tensor(0))

    @abstractmethod
    def normalize_batch(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the training output, and the center and biased variance, (C) each, that normalize it."""

    def normalize_by_running(self, x: Tensor) -> Tensor:
        """Return the evaluation output."""
        return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps)

    def forward(self, x: Tensor) -> Tensor:
        self.check_shape(x)
        empty = self.processes is None and not x.numel()  # has no statistics; an empty part of a batch has
        if empty or not self.training:
            return self.normalize_by_running(x)
        y, mean, var = self.normalize_batch(x)
        self.update(self.running_mean, mean)
        self.update(self.running_var, var)
        self.num_batches_tracked.add_(1)
        return y

    def check_shape(self, x: Tensor) -> None:
        if x.ndim < 2 or x.shape[1] != self.num_features:
            raise ValueError(f"expected (N, {self.num_features}, ...), got {tuple(x.shape)}: check num_features")

    def update(self, running: Tensor, value: Tensor) -> None:
        """Move one of the running statistics towards the value of this batch."""
        if value.requires_grad:
            value = value.detach()
        running.lerp_(value if value.dtype == running.dtype else value.to(running.dtype), self.momentum)
