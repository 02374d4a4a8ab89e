"""The layer `mediannorm`: batch normalization about torch's median, as in the authors' first experiments."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from normbench_cli.norms._batch.layout import to_columns, working_dtype
from normbench_cli.norms._batch.median_kernels import NormalizeAboutLowerMedian
from normbench_cli.norms._batch.processes import Processes
from normbench_cli.norms._batch.running import RunningStatsNorm
from normbench_cli.norms._batch.selection import lower_median
from normbench_cli.norms._batch.synced import normalize_about, shaped_like
from normbench_cli.registry import NORMS
from normbench_cli.registry.bounds import NotNegative, Share


@NORMS.register("mediannorm", paper="AugNorm", placement="after", needs_batch=True, removes_mean=True)
class MedianNorm(RunningStatsNorm):
    """Batch normalization about the median, in its original form: the gradient goes to one value.

        mu = median(x),   sigma^2 = mean (x - mu)^2,   y = gamma (x - mu) / sqrt(sigma^2 + eps) + beta

    The median of an even number of values is the lower of the two middle ones, so the layer is not an odd function;
    tied values do not share the gradient.  `augnorm:phi=1` is the symmetric form.  Source: "Augmented Normalization",
    phi = 1.

    eps: added to sigma^2
    momentum: weight of the new batch in the running statistics
    affine: learn gamma and beta
    """

    def __init__(self, num_features: int, eps: NotNegative = 1e-5, momentum: Share = 0.1, affine: bool = True) -> None:
        super().__init__(num_features, eps, momentum, weight=affine, bias=affine)

    def normalize_batch(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if self.processes is not None:
            return self._normalize_over(self.processes, x)
        apply: Callable[..., tuple[Tensor, Tensor, Tensor]] = NormalizeAboutLowerMedian.apply
        return apply(x, self.weight, self.bias, self.eps)

    def _normalize_over(self, processes: Processes, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        flat = to_columns(x)
        data = flat.to(working_dtype(flat))
        mu = lower_median(data, processes)
        y, var, _ = normalize_about(data, mu, self.weight, self.bias, self.eps, processes)
        return shaped_like(x, y), mu, var

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps:g}"
