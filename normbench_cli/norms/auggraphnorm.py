"""The layer `auggraphnorm`: GraphNorm about the generalized geometric median of each graph."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from normbench_cli.norms._batch.layout import working_dtype
from normbench_cli.norms._compile_policy import reads_without_sync
from normbench_cli.norms._ggm.certified import Tolerance, in_standard_errors
from normbench_cli.norms._ggm.graphs import normalize_graphs
from normbench_cli.norms._ggm.learned_phi import LearnablePhi, LearnsPhiModule, PhiRange
from normbench_cli.norms._ggm.padded import GraphOptions
from normbench_cli.norms._ggm.segmented import segmented_median
from normbench_cli.norms._ggm.solver import MAX_STEPS, parse_solver
from normbench_cli.norms._ggm.stats import SolverLayer, add_call
from normbench_cli.norms._native import graphs as native
from normbench_cli.norms._native.graphs import NativeGraphOptions, Normalized
from normbench_cli.norms._padding import first_rows, padding_of
from normbench_cli.norms._segments import segment_mean, segment_sizes, to_rows
from normbench_cli.registry import NORMS
from normbench_cli.registry.bounds import NotNegative

STEPS_UNCHECKED = 24  # on an accelerator: few values and many ties, so bisection has to do some of the work
LEARNED = PhiRange(1.2, 2.0)


@NORMS.register("auggraphnorm", paper="AugNorm", placement="after", graphs=True)
class AugGraphNorm(SolverLayer, LearnsPhiModule):
    """GraphNorm with the generalized geometric median of each graph in place of its mean.

        s = x - alpha mu_g,   y = gamma s / sqrt(mean_g s^2 + eps) + beta,   mu_g = argmin_y sum_g |x - y|^phi

    for each graph g and feature, the same in training and evaluation; phi = 2 is GraphNorm.  Source: "Augmented
    Normalization", Algorithm 1 and Theorem 6.1, with the signs (E1, E2, E3) and the missing dl/dalpha (E6) corrected.

    phi: above 1, up to 16
    eps: added to the mean square, inside the root
    learn_phi: learn one phi per feature within [1.2, 2], starting at ``phi``
    solver: safe or newton:iterations=4
    tol: as in augnorm, in standard errors of each graph's median, sd / sqrt(nodes); or exact
    """

    def __init__(
        self,
        num_features: int,
        phi: LearnablePhi = 1.5,
        eps: NotNegative = 1e-6,
        learn_phi: bool = False,
        solver: str = "safe",
        tol: Tolerance = 0.02,
    ) -> None:
        super().__init__()
        low, high = LEARNED
        if learn_phi and not low < phi < high:
            raise ValueError(f"phi = {phi:g} is outside ({low:g}, {high:g}), its range when learned: use 1.5, say")
        self.num_features = num_features
        self.fixed_phi = float(phi)
        self.eps = eps
        self.solver = solver
        self.tol = tol
        self.plain_iterations = parse_solver(solver)
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.alpha = nn.Parameter(torch.ones(num_features))
        self.register_phi_raw(LEARNED.raw(phi, num_features, computed_in=torch.float32) if learn_phi else None)

    @property
    def tolerance(self) -> float | None:
        return None if self.tol == "exact" else float(self.tol)

    @property
    def phi(self) -> float | Tensor:
        return self.fixed_phi if self.phi_raw is None else LEARNED.phi(self.phi_raw)

    def forward(self, x: Tensor, batch: Tensor | None = None, num_graphs: int | None = None) -> Tensor:
        """x: (nodes, features); batch: (nodes), the graph of each node, by default one graph; num_graphs: avoids
        reading `batch`, which would synchronize an accelerator."""
        if x.ndim != 2 or x.shape[1] != self.num_features:
            raise ValueError(f"expected (nodes, {self.num_features}), got {tuple(x.shape)}: check num_features")
        if batch is None:
            batch, num_graphs = torch.zeros(len(x), dtype=torch.long, device=x.device), 1
        if num_graphs is None:
            num_graphs = int(batch.max()) + 1 if len(batch) else 0
        if not len(x):  # there are no statistics
            return (x * self.weight + self.bias).to(x.dtype)
        data = x.to(working_dtype(x))
        found: Normalized | None = None
        if reads_without_sync(x) and self.plain_iterations is None:
            found = self.normalize_natively(data, batch, num_graphs)
            found = found or self.normalize_padded(data, batch, num_graphs)
        y, totals, largest_error = found or self.normalize_segments(data, batch, num_graphs)
        self.solver_totals.copy_(totals)
        self.count_error(largest_error)
        return y.to(x.dtype)

    def normalize_natively(self, x: Tensor, batch: Tensor, num_graphs: int) -> Normalized | None:
        """Normalize by the C++ kernels; None if they do not support the data."""
        first = first_rows(batch, num_graphs)
        if self.tolerance is None or first is None:
            return None
        tensors = x, self.weight, self.bias, self.alpha, self.phi, first, self.solver_totals
        return native.normalize_graphs(*tensors, NativeGraphOptions(self.eps, self.tolerance))

    def normalize_padded(self, x: Tensor, batch: Tensor, num_graphs: int) -> Normalized | None:
        """Normalize in few compiled passes.  Reads values, so only on a CPU; None if they must be scaled first."""
        phi = self.phi.to(x.dtype) if isinstance(self.phi, Tensor) else None
        options = GraphOptions(None if phi is not None else self.fixed_phi, self.eps, steps=0, tol=self.tolerance)
        return normalize_graphs(
            *(x, self.weight, self.bias, self.alpha, phi),
            padding_of(batch, num_graphs),
            self.solver_totals,
            options,
        )

    def normalize_segments(self, x: Tensor, batch: Tensor, num_graphs: int) -> Normalized:
        """Normalize by sums over the rows of each graph, in any order; the sums read no values."""
        stop_early = reads_without_sync(x)
        steps = MAX_STEPS if stop_early else STEPS_UNCHECKED
        found = segmented_median(
            x, self.phi, batch, num_graphs, self.plain_iterations, steps, stop_early, self.tolerance
        )
        s, sizes = x - to_rows(self.alpha * found.mu, batch), segment_sizes(x, batch, num_graphs)
        square = segment_mean(s * s, batch, num_graphs, sizes)
        y = s * to_rows(self.weight * (square + self.eps).rsqrt(), batch) + self.bias
        with torch.no_grad():
            totals = add_call(self.solver_totals, found.iterations, found.converged, found.error)
            return Normalized(y, totals, in_standard_errors(found.error, sizes.unsqueeze(-1)).amax())

    def extra_repr(self) -> str:
        return f"{self.num_features}, phi={self.fixed_phi:g}, eps={self.eps:g}, solver={self.solver}, tol={self.tol}"
