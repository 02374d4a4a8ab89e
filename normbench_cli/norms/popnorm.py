"""The layer `popnorm`: normalization before the operation it serves, in every form of its paper."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Literal

import torch
from torch import Tensor

from normbench_cli.norms._batch.group import Groups, number_of_groups
from normbench_cli.norms._batch.layout import from_columns, memory_format, per_channel, to_columns, working_dtype
from normbench_cli.norms._batch.popnorm_kernels import PopNormFunction
from normbench_cli.norms._batch.processes import Processes
from normbench_cli.norms._batch.running import RunningStatsNorm
from normbench_cli.norms._batch.synced import axes_of_channel, largest_over, mean_over, shaped_like
from normbench_cli.registry import NORMS
from normbench_cli.registry.bounds import Bounds, NotNegative, Share


@NORMS.register(
    "popnorm",
    paper="POP-Norm",
    placement="before",
    needs_batch=True,
    batch_free_with=("stats=instance", "stats=group"),
)
class POPNorm(RunningStatsNorm):
    """Remove the mean, divide by the scale, before the main operation; kappa sets the scale.

        xbar = x - mean(x) + beta,   y = gamma / kappa * xbar / sqrt(mean(xbar^2) + eps)

    so that the root mean square of y is |gamma| / kappa.  In evaluation mean(xbar^2) is var + beta^2 from the running
    mean and biased variance of x, which unlike a running mean(xbar^2) does not lag behind beta.  Source: "POP-Norm",
    eq. 11, 12 and Remark 1, with the condition on beta (E19) and the comparison with BatchNorm's beta (E25) corrected.

    kappa: the output's scale is 1 / kappa
    remove: mean (as above), scaled (x - (1 + beta) mean(x)), none
    divide: l2 (as above), l1 (mean |xbar|), linf (max |xbar|), none (then neither gamma nor kappa)
    order: remove_first, divide_first (divide x by its own scale, then remove the quotient's mean)
    stats: batch, instance (each sample), group (each sample and group of channels)
    groups: for stats=group only: exactly this many, which must divide the channels of every layer; none: for each layer
    the largest number, up to 32, that divides its channels into groups of two or more
    eps: added to the mean square (l2); its square root is added to the divisor (l1, linf)
    momentum: weight of the new batch in the running statistics
    """

    running_scale: Tensor  # (C), with divide=l1 and linf

    def __init__(
        self,
        num_features: int,
        kappa: Annotated[float, Bounds(least=1e-6, most=1e6)] = 4.0,
        remove: Literal["mean", "scaled", "none"] = "mean",
        divide: Literal["l2", "l1", "linf", "none"] = "l2",
        order: Literal["remove_first", "divide_first"] = "remove_first",
        stats: Literal["batch", "instance", "group"] = "batch",
        groups: Groups = None,
        eps: NotNegative = 1e-5,
        momentum: Share = 0.1,
    ) -> None:
        if remove == divide == "none":
            raise ValueError("remove=none with divide=none leaves nothing to do: use the norm 'none'")
        if groups is not None and stats != "group":
            raise ValueError(f"groups={groups} has no effect with stats={stats}: leave it out, or give stats=group")
        in_batch = stats == "batch"
        super().__init__(num_features, eps, momentum, weight=divide != "none", bias=remove != "none", tracked=in_batch)
        self.kappa = kappa
        self.remove = remove
        self.divide = divide
        self.order = order
        self.stats = stats
        self.num_groups = number_of_groups(groups, num_features) if stats == "group" else None
        self.groups_in_sample = self.num_groups or num_features
        self.is_default_form = (remove, divide, order) == ("mean", "l2", "remove_first")
        self.runs_scale = in_batch and divide in (
            "l1",
            "linf",
        )  # no closed form from mean and variance: lags behind beta
        if self.runs_scale:
            self.register_buffer("running_scale", torch.ones(num_features))

    def values_per_statistic(self, shape: tuple[int, ...]) -> int:
        if self.stats == "batch":
            return math.prod(shape) // self.num_features
        return math.prod(shape[1:]) // self.groups_in_sample

    def forward(self, x: Tensor) -> Tensor:
        if self.stats == "batch":
            return super().forward(x)
        self.check_shape(x)
        return self._normalize_samples(x)

    def normalize_batch(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if self.processes is not None:
            return self._normalize_over(self.processes, x)
        if self.is_default_form:
            apply: Callable[..., tuple[Tensor, Tensor, Tensor]] = PopNormFunction.apply
            return apply(x, self.weight, self.bias, self.kappa, self.eps)
        flat = to_columns(x)
        data = flat.to(working_dtype(flat))
        axes = axes_of_channel(data)
        mean = data.mean(axes)
        var = (data - per_channel(mean, data)).square().mean(axes)
        y, scale = self._normalize_columns(data, mean, var, None)
        if self.runs_scale:
            self.update(self.running_scale, scale)
        return from_columns(y.to(x.dtype), x), mean, var

    def _normalize_over(self, processes: Processes, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Normalize by the statistics of all processes, in two collectives."""
        flat = to_columns(x)
        data = flat.to(working_dtype(flat))
        mean, count = mean_over(processes, data)
        square, scale = (data - per_channel(mean, data)).square(), None
        if not self.runs_scale:
            var, _ = mean_over(processes, square)
        else:
            size = (data if self.order == "divide_first" else self._remove_mean(data, mean)).abs()
            if self.divide == "l1":
                var, extent, _ = mean_over(processes, square, size)
            else:
                extent, total = largest_over(processes, size, square.sum(axes_of_channel(data)))
                var = total / count
            scale = extent + self.eps**0.5
            self.update(self.running_scale, scale)
        y, _ = self._normalize_columns(data, mean, var, scale)
        return shaped_like(x, y), mean, var

    def normalize_by_running(self, x: Tensor) -> Tensor:
        flat = to_columns(x)
        data = flat.to(working_dtype(flat))
        scale = self.running_scale if self.runs_scale else None
        y, _ = self._normalize_columns(data, self.running_mean, self.running_var, scale)
        return from_columns(y.to(x.dtype), x)

    def _normalize_columns(
        self, data: Tensor, mean: Tensor, var: Tensor, known_scale: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Normalize in any form, by the mean and variance of the data in columns; return y and the divisor."""
        mean, var = mean.to(data.dtype), var.to(data.dtype)
        if self.order == "divide_first":
            scale = self._scale(data, mean.square() + var, known_scale)
            factor = scale.reciprocal()
            y = self._remove_mean(data * per_channel(factor, data), mean * factor)
        else:
            y = self._remove_mean(data, mean)
            scale = self._scale(y, var + self._mean_left(mean).square(), known_scale)
            y = y * per_channel(scale.reciprocal(), data)
        if self.weight is None:
            return y, scale
        return y * per_channel(self.weight / self.kappa, data), scale

    def _remove_mean(self, data: Tensor, mean: Tensor) -> Tensor:
        if self.bias is None:
            return data
        shift = self.bias - mean if self.remove == "mean" else -(1 + self.bias) * mean
        return data + per_channel(shift, data)

    def _mean_left(self, mean: Tensor) -> Tensor:
        """The mean of the data after `_remove_mean`, up to its sign."""
        if self.bias is None:
            return mean
        return self.bias if self.remove == "mean" else self.bias * mean

    def _scale(self, data: Tensor, mean_square: Tensor, known: Tensor | None) -> Tensor:
        if self.divide == "none":
            return torch.ones_like(mean_square)
        if self.divide == "l2":
            return (mean_square + self.eps).sqrt()
        if known is not None:
            return known.to(data.dtype)
        size, axes = data.abs(), axes_of_channel(data)
        extent: Tensor = (size.mean(axes) if self.divide == "l1" else size.amax(axes)) + self.eps**0.5
        return extent

    def _normalize_samples(self, x: Tensor) -> Tensor:
        """Normalize in any form by the statistics of each sample and group, computed directly, without closed forms,
        since beta differs between the channels of a group."""
        data = x.to(working_dtype(x)).reshape(len(x), self.groups_in_sample, self.values_per_statistic(x.shape))
        channels = (1, self.num_features, *[1] * (x.ndim - 2))

        def expanded(parameter: Tensor) -> Tensor:
            return parameter.view(channels).expand_as(x).reshape(data.shape)

        def removed(values: Tensor) -> Tensor:
            if self.bias is None:
                return values
            mean, beta = values.mean(2, keepdim=True), expanded(self.bias)
            return values - mean + beta if self.remove == "mean" else values - (1 + beta) * mean

        def divided(values: Tensor) -> Tensor:
            if self.divide == "none":
                return values
            if self.divide == "l2":
                return values * (values.square().mean(2, keepdim=True) + self.eps).rsqrt()
            size = values.abs()
            size = size.mean(2, keepdim=True) if self.divide == "l1" else size.amax(2, keepdim=True)
            quotient: Tensor = values / (size + self.eps**0.5)
            return quotient

        y = removed(divided(data)) if self.order == "divide_first" else divided(removed(data))
        if self.weight is not None:
            y = y * expanded(self.weight / self.kappa)
        return y.to(x.dtype).reshape(x.shape).contiguous(memory_format=memory_format(x))

    def extra_repr(self) -> str:
        form = f"remove={self.remove}, divide={self.divide}, order={self.order}, stats={self.stats}"
        groups = f", groups={self.num_groups}" if self.stats == "group" else ""
        return f"{self.num_features}, kappa={self.kappa:g}, {form}{groups}, eps={self.eps:g}"
