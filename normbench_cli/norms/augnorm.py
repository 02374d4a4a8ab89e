"""The layer `augnorm`: batch normalization about the generalized geometric median, for one fixed phi."""

from __future__ import annotations

from typing import Annotated, Any

import torch
from torch import Tensor, nn

from normbench_cli.norms._batch.layout import from_columns, to_columns, working_dtype
from normbench_cli.norms._batch.reduce import normalize_about
from normbench_cli.norms._batch.running import RunningStatsNorm
from normbench_cli.norms._ggm.autograd import compile_ahead, normalize_about_median
from normbench_cli.norms._ggm.kernels import SolverOptions
from normbench_cli.norms._ggm.median import generalized_median
from normbench_cli.norms._ggm.solver import parse_solver
from normbench_cli.norms._ggm.stats import SolverLayer
from normbench_cli.registry import NORMS
from normbench_cli.registry.bounds import Bounds, NotNegative, Share

STEPS_UNCHECKED = 8  # where asking whether they are enough would wait: on an accelerator, in a compiled model
STEPS_UNCHECKED_LOW_PHI = 24  # the same for a low phi, where ties make many steps bisections
LOW_PHI = 1.4
FEW_VALUES = 2**14  # in a channel; fewer are less like the batch before


@NORMS.register("augnorm", paper="AugNorm", placement="after", needs_batch=True, removes_mean=True)
class AugNorm(RunningStatsNorm, SolverLayer):
    """Batch normalization about the generalized geometric median instead of the mean.

        mu = argmin_y sum |x - y|^phi,   sigma^2 = mean (x - mu)^2,   y = gamma (x - mu) / sqrt(sigma^2 + eps) + beta

    for each channel over the batch and all positions; in evaluation with running mu and (biased) sigma^2, which change
    in training only.  phi = 2 is BatchNorm.  Source: "Augmented Normalization: Differentiating the Generalized
    Geometric Median", with the signs of Newton's step (E1), of dmu/dx (E2) and of dl/dsigma^2 (E3, E4) corrected.

    phi: from 1 (median) over 2 (mean) to 16, or inf (mid-range)
    eps: added to sigma^2
    momentum: weight of the new batch in the running statistics
    affine: learn gamma and beta
    solver: safe (bracketed; converges always) or newton:iterations=4 (the papers' plain iteration)
    """

    start: Tensor

    def __init__(
        self,
        num_features: int,
        phi: Annotated[float, Bounds(least=1, most=16, infinite=True)] = 1.5,
        eps: NotNegative = 1e-5,
        momentum: Share = 0.1,
        affine: bool = True,
        solver: str = "safe",
    ) -> None:
        super().__init__(num_features, eps, momentum, weight=affine, bias=affine)
        self.fixed_phi: float | None = float(phi)
        self.solver = solver
        self.plain_iterations = parse_solver(solver)
        # Where the next search starts, (mu - mean) / sd.  Part of the state: a resumed training repeats every bit.
        self.register_buffer("start", torch.zeros(num_features))
        self.register_load_state_dict_pre_hook(_add_missing_start)  # type: ignore[no-untyped-call]

    def solver_options(self, x: Tensor) -> SolverOptions:
        phi = self.fixed_phi
        above_two = phi is not None and phi > 2
        if self.plain_iterations is not None:
            return SolverOptions(phi, self.eps, self.plain_iterations, plain=True, above_two=above_two)
        if x.device.type != "cpu" or torch.compiler.is_compiling():
            steps = STEPS_UNCHECKED_LOW_PHI if phi is not None and phi < LOW_PHI else STEPS_UNCHECKED
        else:
            steps = 3 if x.numel() < FEW_VALUES * self.num_features else 2
        return SolverOptions(phi, self.eps, steps, above_two=above_two)

    def phi_tensor(self) -> Tensor | None:
        """phi (C) where it is learned; None where it is `fixed_phi`."""
        return None

    def normalize_batch(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if self.fixed_phi in (1.0, float("inf")):
            flat = to_columns(x)
            data = flat.to(working_dtype(flat))
            mu = generalized_median(data, self.fixed_phi, 0 if data.ndim == 2 else (0, 2))
            y, var = normalize_about(data, mu, self.weight, self.bias, self.eps)
            return from_columns(y.to(x.dtype), x), mu, var
        y, mu, var, offset, totals = normalize_about_median(
            x, self.weight, self.bias, self.phi_tensor(), self.start, self.solver_totals, self.solver_options(x)
        )
        self.solver_totals.copy_(totals)
        self.start.lerp_(offset.to(self.start.dtype), 0.5)
        return y, mu, var

    @torch.no_grad()
    def compile_ahead(self, x: Tensor) -> None:
        """Compile all kernels that training on batches like this one may need, once, before processes are forked that
        would each have to."""
        if self.fixed_phi not in (1.0, float("inf")):
            compile_ahead(x, self.weight, self.bias, self.phi_tensor(), self.start, self.solver_options(x))

    def extra_repr(self) -> str:
        return f"{self.num_features}, phi={self.fixed_phi:g}, eps={self.eps:g}, solver={self.solver}"


def _add_missing_start(module: nn.Module, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
    """The state of a BatchNorm fits: all it lacks is where to start."""
    state_dict.setdefault(f"{prefix}start", module.start)
