"""Batch normalization, as torch computes it, for any number of dimensions."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from normbench_cli.norms._batch.layout import to_columns, working_dtype
from normbench_cli.norms._batch.processes import Processes, SyncedStatistics
from normbench_cli.norms._batch.synced import mean_over, normalize_about, shaped_like
from normbench_cli.registry import NORMS
from normbench_cli.registry.bounds import Positive, Share


@NORMS.register(
    "batchnorm", aliases=("bn",), paper="Ioffe & Szegedy 2015", placement="after", needs_batch=True, removes_mean=True
)
class BatchNorm(SyncedStatistics, _BatchNorm):
    """Batch normalization: every channel centered and scaled by the batch's own statistics.

        y = gamma (x - mean) / sqrt(var + eps) + beta        over (N, spatial), per channel

    Torch's own layer: it normalizes with the biased variance and stores the unbiased one.  Over several processes it
    equals torch's SyncBatchNorm, on any device.

    num_features: channels; eps: added to the variance; affine: learn gamma and beta
    momentum: weight of the new batch in the running statistics
    """

    def __init__(self, num_features: int, eps: Positive = 1e-5, momentum: Share = 0.1, affine: bool = True) -> None:
        super().__init__(num_features, eps=eps, momentum=momentum, affine=affine)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"batchnorm needs an input (N, C, ...), not one of {input.dim()} dimension(s)")

    def forward(self, input: Tensor) -> Tensor:
        if self.processes is None or not self.training:
            return super().forward(input)
        self._check_input_dim(input)
        return self._normalize_over(self.processes, input)

    def _normalize_over(self, processes: Processes, x: Tensor) -> Tensor:
        flat = to_columns(x)
        data = flat.to(working_dtype(flat))
        mean, _ = mean_over(processes, data)
        y, var, count = normalize_about(data, mean, self.weight, self.bias, self.eps, processes)
        with torch.no_grad():
            self._update(mean, unbiased=var * (count / (count - 1).clamp_min(1)))
        return shaped_like(x, y)

    def _update(self, mean: Tensor, unbiased: Tensor) -> None:
        """Update the running statistics, if there are any, as torch's layer does; momentum None averages over all
        batches."""
        tracked = self.num_batches_tracked
        if not self.track_running_stats or tracked is None or self.running_mean is None or self.running_var is None:
            return
        tracked.add_(1)
        share = 1 / tracked if self.momentum is None else self.momentum
        for running, value in ((self.running_mean, mean), (self.running_var, unbiased)):
            running.lerp_(value.to(running.dtype), share.to(running.dtype) if isinstance(share, Tensor) else share)
