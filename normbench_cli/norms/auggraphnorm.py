"""The layer `auggraphnorm`: GraphNorm about the generalized geometric median of each graph."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from normbench_cli.norms._batch.layout import working_dtype
from normbench_cli.norms._compile import reads_without_sync
from normbench_cli.norms._ggm.segmented import segmented_median
from normbench_cli.norms._ggm.solver import check_phi, parse_solver
from normbench_cli.norms._ggm.stats import SolverRecord
from normbench_cli.norms._segments import segment_mean, segment_sizes, to_rows
from normbench_cli.registry import NORMS

ACCELERATOR_ROUNDS = 24  # few values and many ties: bisection has to do some of the work


@NORMS.register("auggraphnorm", paper="AugNorm", placement="after", graphs=True)
class AugGraphNorm(SolverRecord):
    """GraphNorm with the generalized geometric median of each graph in place of its mean.

        s = x - alpha mu_g,   y = gamma s / sqrt(mean_g s^2 + eps) + beta,   mu_g = argmin_y sum_g |x - y|^phi

    for each graph g and feature, alike in training and evaluation; phi = 2 is GraphNorm.  Source: "Augmented
    Normalization", Algorithm 1 and Theorem 6.1, with the signs (E1, E2, E3) and the missing dl/dalpha (E6) corrected.

    phi: above 1, up to 16
    eps: added to the mean square, inside the root
    learn_phi: one phi a feature, learned within [1.2, 2] from ``phi``
    solver: safe or newton:iterations=4
    """

    def __init__(
        self, num_features: int, phi: float = 1.5, eps: float = 1e-6, learn_phi: bool = False, solver: str = "safe"
    ) -> None:
        super().__init__()
        check_phi(phi)
        if phi == 1 or phi == float("inf"):
            raise ValueError(f"phi = {phi:g} has no search: use a value between 1.01 and 16")
        if learn_phi and not 1.2 < phi < 2.0:
            raise ValueError(f"phi = {phi:g} is outside (1.2, 2), where it is learned: begin at 1.5, for instance")
        self.num_features, self.fixed_phi, self.eps, self.solver = num_features, float(phi), eps, solver
        self.iterations = parse_solver(solver)
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.alpha = nn.Parameter(torch.ones(num_features))
        if learn_phi:
            share = torch.full((num_features,), (phi - 1.2) / 0.8)
            self.phi_raw = nn.Parameter(share.logit())
            self.phi_raw.weight_decay_group = "phi"  # type: ignore[attr-defined]
        else:
            self.register_parameter("phi_raw", None)
        self.register_buffer("record", torch.zeros(5), persistent=False)

    @property
    def phi(self) -> float | Tensor:
        return self.fixed_phi if self.phi_raw is None else 1.2 + 0.8 * torch.sigmoid(self.phi_raw)

    def forward(self, x: Tensor, batch: Tensor | None = None, num_graphs: int | None = None) -> Tensor:
        """x (nodes, features); batch: the graph of each node (none: all one graph); num_graphs, if it is known, saves
        waiting for a device."""
        if x.ndim != 2 or x.shape[1] != self.num_features:
            raise ValueError(f"expected (nodes, {self.num_features}), got {tuple(x.shape)}: check num_features")
        if batch is None:
            batch, num_graphs = torch.zeros(len(x), dtype=torch.long, device=x.device), 1
        if num_graphs is None:
            num_graphs = int(batch.max()) + 1 if len(batch) else 0
        data = x.to(working_dtype(x))
        look = reads_without_sync(x)
        found = segmented_median(
            data, self.phi, batch, num_graphs, self.iterations, 80 if look else ACCELERATOR_ROUNDS, look
        )
        s = data - to_rows(self.alpha * found.mu, batch)
        square = segment_mean(s * s, batch, num_graphs, segment_sizes(data, batch, num_graphs))
        y = s * to_rows(self.weight * (square + self.eps).rsqrt(), batch) + self.bias
        with torch.no_grad():
            lost = (~found.converged).to(data.dtype)
            steps = found.iterations
            now = [steps.mean(), steps.amax(), lost.mean(), found.error.amax()]
            mean, most, share, error = (t.to(self.record.dtype) for t in now)
            calls, sum_mean, max_most, sum_share, max_error = self.record.unbind()
            new = [calls + 1, sum_mean + mean, torch.maximum(max_most, most), sum_share + share]
            self.record.copy_(torch.stack([*new, torch.maximum(max_error, error)]))
        return y.to(x.dtype)

    def extra_repr(self) -> str:
        return f"{self.num_features}, phi={self.fixed_phi:g}, eps={self.eps:g}, solver={self.solver}"
