"""The layer `graphnorm`: statistics over the nodes of each graph, and a learned fraction of the mean."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from normbench_cli.norms._segments import segment_mean, segment_sizes, to_rows
from normbench_cli.registry import NORMS
from normbench_cli.registry.bounds import NotNegative


@NORMS.register("graphnorm", paper="Cai et al. 2021", placement="after", graphs=True)
class GraphNorm(nn.Module):
    """GraphNorm: each feature of each graph minus a learned fraction of its mean, scaled to second moment one.

        s = x - alpha mean(x),   y = gamma s / sqrt(mean(s^2) + eps) + beta        over a graph's nodes, per feature

    As in the authors' code: mean(s^2) is the moment about alpha mean(x), not the variance, and eps = 1e-6 is inside the
    root.  The same in training and evaluation.  In a graph of one node s = (1 - alpha) x.

    num_features: features of a node
    eps: added to the moment
    affine: learn gamma and beta; alpha is always learned
    """

    def __init__(self, num_features: int, eps: NotNegative = 1e-6, affine: bool = True) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(num_features)) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_features)) if affine else None
        self.alpha = nn.Parameter(torch.ones(num_features))

    def forward(self, x: Tensor, batch: Tensor | None = None, num_graphs: int | None = None) -> Tensor:
        """x: (nodes, features); batch: (nodes), the graph of each node, by default one graph; num_graphs: avoids
        reading `batch`, which would synchronize an accelerator."""
        if x.ndim != 2 or x.shape[1] != self.num_features:
            raise ValueError(f"expected (nodes, {self.num_features}), got {tuple(x.shape)}: check num_features")
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        if batch is None:
            s = wide - self.alpha * wide.mean(0)
            scale = self._scale(s.square().mean(0))
        else:
            graphs = (int(batch.max()) + 1 if len(batch) else 0) if num_graphs is None else num_graphs
            sizes = segment_sizes(wide, batch, graphs)
            s = wide - to_rows(self.alpha * segment_mean(wide, batch, graphs, sizes), batch)
            scale = to_rows(self._scale(segment_mean(s.square(), batch, graphs, sizes)), batch)
        y = s * scale if self.bias is None else s * scale + self.bias
        return y.to(x.dtype)

    def _scale(self, moment: Tensor) -> Tensor:
        scale = (moment + self.eps).rsqrt()
        return scale if self.weight is None else scale * self.weight

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps:g}"
