"""The layer `popnorm`: normalization before the operation it serves, in every form its paper names."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from normbench_cli.norms._batch.group import fitting_groups
from normbench_cli.norms._batch.layout import from_columns, per_channel, to_columns, working_dtype
from normbench_cli.norms._batch.popnorm_kernels import PopNormFunction
from normbench_cli.registry import NORMS


@NORMS.register(
    "popnorm",
    paper="POP-Norm",
    placement="before",
    needs_batch=True,
    batch_free_with=("stats=instance", "stats=group"),
)
class POPNorm(nn.Module):
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
    groups: for stats=group: at most so many, the largest number of them that divides the channels
    eps: added to the square of the scale
    momentum: share of the new batch in the running statistics
    """

    running_mean: Tensor
    running_var: Tensor
    running_scale: Tensor
    num_batches_tracked: Tensor

    def __init__(
        self,
        num_features: int,
        kappa: float = 4.0,
        remove: Literal["mean", "scaled", "none"] = "mean",
        divide: Literal["l2", "l1", "linf", "none"] = "l2",
        order: Literal["remove_first", "divide_first"] = "remove_first",
        stats: Literal["batch", "instance", "group"] = "batch",
        groups: int = 32,
        eps: float = 1e-5,
        momentum: float = 0.1,
    ) -> None:
        super().__init__()
        if not 0 < kappa < float("inf"):
            raise ValueError(
                f"kappa is {kappa:g}, and the output's scale is 1 / kappa: use a positive number such as 4"
            )
        if remove == divide == "none":
            raise ValueError("remove=none with divide=none leaves nothing to do: use the norm 'none'")
        self.num_features, self.kappa, self.remove, self.divide = num_features, kappa, remove, divide
        self.order, self.stats, self.groups = order, stats, fitting_groups(groups, num_features)
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(num_features)) if divide != "none" else None
        self.bias = nn.Parameter(torch.zeros(num_features)) if remove != "none" else None
        if stats == "batch":
            self.register_buffer("running_mean", torch.zeros(num_features))
            self.register_buffer("running_var", torch.ones(num_features))
            self.register_buffer("num_batches_tracked", torch.tensor(0))
            if divide in ("l1", "linf"):  # no closed form from mean and variance, so this one lags behind beta
                self.register_buffer("running_scale", torch.ones(num_features))

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim < 2 or x.shape[1] != self.num_features:
            raise ValueError(f"expected (N, {self.num_features}, ...), got {tuple(x.shape)}: check num_features")
        if self.stats != "batch":
            return self._per_sample(x)
        if not self.training:
            flat = to_columns(x)
            data = flat.to(working_dtype(flat))
            scale = self.running_scale if self.divide in ("l1", "linf") else None
            y, _ = self._form(data, self.running_mean, self.running_var, (0,) if data.ndim == 2 else (0, 2), scale)
            return from_columns(y.to(x.dtype), x)
        if (self.remove, self.divide, self.order) == ("mean", "l2", "remove_first"):
            y, mean, var = PopNormFunction.apply(x, self.weight, self.bias, self.kappa, self.eps)
        else:
            flat = to_columns(x)
            data = flat.to(working_dtype(flat))
            axes = (0,) if data.ndim == 2 else (0, 2)
            mean = data.mean(axes)
            var = (data - per_channel(mean, data)).square().mean(axes)
            y, scale = self._form(data, mean, var, axes, None)
            y = from_columns(y.to(x.dtype), x)
            if self.divide in ("l1", "linf"):
                self._follow(self.running_scale, scale)
        self._follow(self.running_mean, mean)
        self._follow(self.running_var, var)
        self.num_batches_tracked.add_(1)
        return y

    def _follow(self, running: Tensor, value: Tensor) -> None:
        with torch.no_grad():
            running.lerp_(value.detach().to(running.dtype), self.momentum)

    def _form(
        self, data: Tensor, mean: Tensor, var: Tensor, axes: tuple[int, ...], known: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Any form, from the mean and variance of the data; and the scale it divided by."""
        mean, var = mean.to(data.dtype), var.to(data.dtype)
        if self.order == "divide_first":
            scale = self._scale(data, mean.square() + var, axes, known)
            factor = scale.reciprocal()
            y = self._removed(data * per_channel(factor, data), mean * factor)
        else:
            y = self._removed(data, mean)
            kept = {"mean": self.bias, "none": mean}.get(self.remove)
            if self.remove == "scaled" and self.bias is not None:
                kept = self.bias * mean
            assert kept is not None
            scale = self._scale(y, var + kept.square(), axes, known)
            y = y * per_channel(scale.reciprocal(), data)
        if self.weight is None:
            return y, scale
        return y * per_channel(self.weight / self.kappa, data), scale

    def _removed(self, data: Tensor, mean: Tensor) -> Tensor:
        if self.bias is None:
            return data
        shift = self.bias - mean if self.remove == "mean" else -(1 + self.bias) * mean
        return data + per_channel(shift, data)

    def _scale(self, data: Tensor, square: Tensor, axes: tuple[int, ...], known: Tensor | None) -> Tensor:
        if self.divide == "none":
            return torch.ones_like(square)
        if self.divide == "l2":
            return (square + self.eps).sqrt()
        if known is not None:
            return known.to(data.dtype)
        size = data.abs()
        return (size.mean(axes) if self.divide == "l1" else size.amax(axes)) + self.eps**0.5

    def _per_sample(self, x: Tensor) -> Tensor:
        """Statistics of each sample (and group): everything directly, since beta differs within a group."""
        groups = self.groups if self.stats == "group" else self.num_features
        data = x.to(working_dtype(x)).reshape(len(x), groups, -1)
        lanes = (1, self.num_features, *[1] * (x.ndim - 2))

        def wide(parameter: Tensor) -> Tensor:
            return parameter.view(lanes).expand_as(x).reshape(data.shape)

        def removed(values: Tensor) -> Tensor:
            if self.bias is None:
                return values
            mean = values.mean(2, keepdim=True)
            return values - mean + wide(self.bias) if self.remove == "mean" else values - (1 + wide(self.bias)) * mean

        def divided(values: Tensor) -> Tensor:
            if self.divide == "none":
                return values
            if self.divide == "l2":
                return values * (values.square().mean(2, keepdim=True) + self.eps).rsqrt()
            size = values.abs()
            size = size.mean(2, keepdim=True) if self.divide == "l1" else size.amax(2, keepdim=True)
            return values / (size + self.eps**0.5)

        y = removed(divided(data)) if self.order == "divide_first" else divided(removed(data))
        if self.weight is not None:
            y = y * wide(self.weight / self.kappa)
        return y.to(x.dtype).reshape(x.shape).contiguous(memory_format=memory_format(x))

    def extra_repr(self) -> str:
        form = f"remove={self.remove}, divide={self.divide}, order={self.order}, stats={self.stats}"
        return f"{self.num_features}, kappa={self.kappa:g}, {form}, eps={self.eps:g}"


def memory_format(x: Tensor) -> torch.memory_format:
    if x.ndim in (4, 5) and not x.is_contiguous():
        last = torch.channels_last if x.ndim == 4 else torch.channels_last_3d
        if x.is_contiguous(memory_format=last):
            return last
    return torch.contiguous_format
