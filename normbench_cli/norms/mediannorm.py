"""The layer `mediannorm`: batch normalization about torch's median, as the first experiments had it."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from normbench_cli.norms._batch.layout import from_columns, to_columns, working_dtype
from normbench_cli.norms._batch.reduce import normalize_about
from normbench_cli.registry import NORMS


@NORMS.register("mediannorm", paper="AugNorm", placement="after", needs_batch=True, removes_mean=True)
class MedianNorm(nn.Module):
    """Batch normalization about the median, in its original form: the gradient goes to one value.

        mu = median(x),   sigma^2 = mean (x - mu)^2,   y = gamma (x - mu) / sqrt(sigma^2 + eps) + beta

    The median of an even number of values is the lower of the two in the middle, so the layer is not odd; tied values
    do not share the gradient.  `augnorm:phi=1` is the symmetric form.  Source: "Augmented Normalization", phi = 1.

    eps: added to sigma^2
    momentum: share of the new batch in the running statistics
    affine: learn gamma and beta
    """

    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.weight = nn.Parameter(torch.ones(num_features)) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_features)) if affine else None
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))
        self.register_buffer("num_batches_tracked", torch.tensor(0))

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim < 2 or x.shape[1] != self.num_features:
            raise ValueError(f"expected (N, {self.num_features}, ...), got {tuple(x.shape)}: check num_features")
        if not self.training:
            return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps)
        flat = to_columns(x)
        data = flat.to(working_dtype(flat))
        lanes = data.t() if data.ndim == 2 else data.transpose(0, 1).flatten(1)
        mu = lanes.median(dim=1).values
        y, var = normalize_about(data, mu, self.weight, self.bias, self.eps)
        with torch.no_grad():
            self.running_mean.lerp_(mu.detach().to(self.running_mean.dtype), self.momentum)
            self.running_var.lerp_(var.detach().to(self.running_var.dtype), self.momentum)
            self.num_batches_tracked.add_(1)
        return from_columns(y.to(x.dtype), x)

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps:g}"
