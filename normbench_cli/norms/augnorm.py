"""The layer `augnorm`: batch normalization about the generalized geometric median, for one fixed phi."""

from __future__ import annotations

from typing import Annotated, Any

import torch
from torch import Tensor, nn

from normbench_cli.norms._batch.layout import from_columns, to_columns, working_dtype
from normbench_cli.norms._batch.processes import Processes
from normbench_cli.norms._batch.reduce import normalize_about
from normbench_cli.norms._batch.running import RunningStatsNorm
from normbench_cli.norms._batch.synced import normalize_about as normalize_about_over
from normbench_cli.norms._batch.synced import shaped_like
from normbench_cli.norms._ggm.autograd import compile_ahead, normalize_about_median
from normbench_cli.norms._ggm.buffers import SolverBuffers
from normbench_cli.norms._ggm.certified import Tolerance, in_standard_errors
from normbench_cli.norms._ggm.kernels import SolverOptions
from normbench_cli.norms._ggm.median import generalized_median
from normbench_cli.norms._ggm.operators import as_text
from normbench_cli.norms._ggm.pass_scheduler import NOTHING_KNOWN, PassScheduler
from normbench_cli.norms._ggm.solver import parse_solver
from normbench_cli.norms._ggm.stats import SolverLayer, SolverTotals, add_call
from normbench_cli.norms._ggm.synced import center_over
from normbench_cli.norms._ggm.to_tolerance import normalize_to_tolerance
from normbench_cli.norms._ggm.tolerant import compile_ahead as compile_tolerant_ahead
from normbench_cli.registry import NORMS
from normbench_cli.registry.bounds import Bounds, NotNegative, Share

STEPS_UNCHECKED = 8  # where a convergence test would wait for the device: on an accelerator, in a compiled model
STEPS_UNCHECKED_LOW_PHI = 24  # the same for a low phi, where ties turn many steps into bisections
LOW_PHI = 1.4
PASSES, PASSES_LOW_PHI = 1, 2  # of the search to a tolerance; nearly always enough in training
FEW_VALUES = 2**14  # per channel; with fewer, consecutive batches differ more


@NORMS.register("augnorm", paper="AugNorm", placement="after", needs_batch=True, removes_mean=True)
class AugNorm(RunningStatsNorm, SolverLayer):
    """Batch normalization about the generalized geometric median instead of the mean.

        mu = argmin_y sum |x - y|^phi,   sigma^2 = mean (x - mu)^2,   y = gamma (x - mu) / sqrt(sigma^2 + eps) + beta

    for each channel over the batch and all positions; in evaluation with running mu and (biased) sigma^2, which change
    in training only.  phi = 2 is BatchNorm.  Source: "Augmented Normalization: Differentiating the Generalized
    Geometric Median", with the signs of Newton's step (E1), of dmu/dx (E2) and of dl/dsigma^2 (E3, E4) corrected.

    phi: from 1 (median) through 2 (mean) to 16, or inf (mid-range)
    eps: added to sigma^2
    momentum: weight of the new batch in the running statistics
    affine: learn gamma and beta
    solver: safe (bracketed; always converges) or newton:iterations=4 (the papers' plain iteration)
    tol: certified distance to the median at which the safe search ends, in standard errors sd / sqrt(m) of the m values
    of a channel; or exact, to the last digits

    A batch's median differs from the next batch's by about a standard error, often by several since neighboring values
    are correlated.  An error of a fiftieth adds at most four parts in 10,000 to the variance of that noise, and takes
    one pass over the data instead of two or more.  The gradient is exact for the center that is used.
    """

    start: Tensor
    center: Tensor
    failures: Tensor

    def __init__(
        self,
        num_features: int,
        phi: Annotated[float, Bounds(least=1, most=16, infinite=True)] = 1.5,
        eps: NotNegative = 1e-5,
        momentum: Share = 0.1,
        affine: bool = True,
        solver: str = "safe",
        tol: Tolerance = 0.02,
    ) -> None:
        super().__init__(num_features, eps, momentum, weight=affine, bias=affine)
        self.fixed_phi: float | None = float(phi)
        self.tol = tol
        self.solver = solver
        self.plain_iterations = parse_solver(solver)
        # Where the next search starts, (mu - mean) / sd.  Part of the state, so that resumed training is bit-identical.
        self.register_buffer("start", torch.zeros(num_features))
        self.register_buffer("center", torch.zeros(num_features))  # mu of the previous batch
        self.register_buffer("failures", torch.tensor(NOTHING_KNOWN), persistent=False)  # in a row, of blind searches
        self.pass_scheduler = PassScheduler()
        self.register_load_state_dict_pre_hook(_add_missing_start)  # type: ignore[no-untyped-call]
        self.options_as_text = as_text(self.solver_options(self.start))

    @property
    def starts(self) -> tuple[Tensor, Tensor]:
        """Where the solver starts."""
        return self.start, self.center

    def solver_options(self, x: Tensor) -> SolverOptions:
        phi = self.fixed_phi
        above_two = phi is not None and phi > 2
        if self.plain_iterations is not None:
            return SolverOptions(phi, self.eps, self.plain_iterations, plain=True, above_two=above_two)
        if self.tol != "exact" and phi != 2:
            return SolverOptions(phi, self.eps, self.passes(phi), above_two=above_two, tol=float(self.tol))
        if x.device.type != "cpu" or torch.compiler.is_compiling():
            steps = STEPS_UNCHECKED_LOW_PHI if phi is not None and phi < LOW_PHI else STEPS_UNCHECKED
        else:
            steps = 3 if x.numel() < FEW_VALUES * self.num_features else 2
        return SolverOptions(phi, self.eps, steps, above_two=above_two)

    def passes(self, phi: float | None) -> int:
        """Search passes before the first convergence test."""
        return PASSES if phi is None or phi >= LOW_PHI else PASSES_LOW_PHI

    def phi_tensor(self) -> Tensor | None:
        """phi (C) if it is learned; None if it is `fixed_phi`."""
        return None

    def normalize_batch(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if self.processes is not None:
            return self._normalize_over(self.processes, x)
        if self.fixed_phi in (1.0, float("inf")):
            flat = to_columns(x)
            data = flat.to(working_dtype(flat))
            mu = generalized_median(data, self.fixed_phi, 0 if data.ndim == 2 else (0, 2))
            y, var = normalize_about(data, mu, self.weight, self.bias, self.eps)
            return from_columns(y.to(x.dtype), x), mu, var
        options, parameters = self.solver_options(x), (self.weight, self.bias, self.phi_tensor())
        if options.tol is not None:
            buffers = SolverBuffers(self.start, self.center, self.solver_totals, self.largest_error)
            return normalize_to_tolerance(
                x, *parameters, buffers, options, self.options_as_text, self.pass_scheduler, self.failures
            )
        y, mu, var, offset, totals = normalize_about_median(x, *parameters, self.start, self.solver_totals, options)
        self.count_error(in_standard_errors(SolverTotals(*totals.unbind()).max_error, x.numel() // self.num_features))
        self.solver_totals.copy_(totals)
        self.start.lerp_(offset.to(self.start.dtype), 0.5)
        return y, mu, var

    def _normalize_over(self, processes: Processes, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        flat, options = to_columns(x), self.solver_options(x)
        data = flat.to(working_dtype(flat))
        mu, offset, iterations, done, error = center_over(processes, data, self.phi_tensor(), self.start, options)
        y, var, count = normalize_about_over(data, mu, self.weight, self.bias, self.eps, processes)
        if offset is not None and iterations is not None and done is not None and error is not None:
            self.solver_totals.copy_(add_call(self.solver_totals, iterations, done, error))
            self.count_error(in_standard_errors(error.amax(), count).squeeze(0))
            self.start.lerp_(offset.to(self.start.dtype), 0.5)
            if options.tol is not None:
                self.center.copy_(torch.where(torch.isfinite(mu), mu, self.center).detach())
        return shaped_like(x, y), mu, var

    @torch.no_grad()
    def compile_ahead(self, x: Tensor) -> None:
        """Compile all kernels that training on batches like this one may need, before forking processes that would each
        compile them."""
        options, parameters = self.solver_options(x), (self.weight, self.bias, self.phi_tensor())
        if self.fixed_phi in (1.0, float("inf")):
            return
        if options.tol is None:
            compile_ahead(x, *parameters, self.start, options)
        else:
            compile_tolerant_ahead(x, *parameters, self.start, self.center, self.solver_totals, options)

    def extra_repr(self) -> str:
        return f"{self.num_features}, phi={self.fixed_phi:g}, eps={self.eps:g}, solver={self.solver}, tol={self.tol}"


def _add_missing_start(module: nn.Module, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
    """Accept a state without solver starts, such as a BatchNorm's."""
    for name in ("start", "center"):
        state_dict.setdefault(f"{prefix}{name}", getattr(module, name))
