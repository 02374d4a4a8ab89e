"""The layer `augnorm`: batch normalization about the generalized geometric median, for one fixed phi."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from normbench_cli.norms._batch.layout import from_columns, to_columns, working_dtype
from normbench_cli.norms._batch.reduce import normalize_about
from normbench_cli.norms._batch.running import RunningStatsNorm
from normbench_cli.norms._ggm.autograd import Normalize, compile_ahead
from normbench_cli.norms._ggm.kernels import Plan
from normbench_cli.norms._ggm.median import generalized_median
from normbench_cli.norms._ggm.solver import check_phi, parse_solver
from normbench_cli.norms._ggm.stats import SolverRecord
from normbench_cli.registry import NORMS

BLIND_ROUNDS = 8  # steps where nobody may look whether they are enough: on an accelerator, in a compiled model
BLIND_ROUNDS_LOW = 24  # the same for a low phi, where ties make many steps bisections
LOW = 1.4
SMALL = 2**14


@NORMS.register("augnorm", paper="AugNorm", placement="after", needs_batch=True, removes_mean=True)
class AugNorm(RunningStatsNorm, SolverRecord):
    """Batch normalization about the generalized geometric median instead of the mean.

        mu = argmin_y sum |x - y|^phi,   sigma^2 = mean (x - mu)^2,   y = gamma (x - mu) / sqrt(sigma^2 + eps) + beta

    for each channel over the batch and all positions; in evaluation with running mu and (biased) sigma^2, which change
    in training only.  phi = 2 is BatchNorm.  Source: "Augmented Normalization: Differentiating the Generalized
    Geometric Median", with the signs of Newton's step (E1), of dmu/dx (E2) and of dl/dsigma^2 (E3, E4) corrected.

    phi: from 1 (median) over 2 (mean) to 16, or inf (mid-range)
    eps: added to sigma^2
    momentum: share of the new batch in the running statistics
    affine: learn gamma and beta
    solver: safe (bracketed; converges always) or newton:iterations=4 (the papers' plain iteration)
    """

    start: Tensor

    def __init__(
        self,
        num_features: int,
        phi: float = 1.5,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        solver: str = "safe",
    ) -> None:
        super().__init__(num_features, eps, momentum, weight=affine, bias=affine)
        check_phi(phi)
        self.solver = solver
        self.fixed_phi: float | None = float(phi)
        self.iterations = parse_solver(solver)
        # Where the next search starts, (mu - mean) / sd.  Part of the state: a resumed training repeats every bit.
        self.register_buffer("start", torch.zeros(num_features))
        self.register_buffer("record", torch.zeros(5), persistent=False)

    def plan(self, x: Tensor) -> Plan:
        phi = self.fixed_phi
        if self.iterations is not None:
            return Plan(phi, self.eps, self.iterations, plain=True, above_two=phi is not None and phi > 2)
        blind = x.device.type != "cpu" or torch.compiler.is_compiling()
        few = x.numel() < SMALL * self.num_features  # fewer values, less like the batch before
        sure = BLIND_ROUNDS_LOW if phi is not None and phi < LOW else BLIND_ROUNDS
        rounds = sure if blind else 3 if few else 2
        return Plan(phi, self.eps, rounds, above_two=phi is not None and phi > 2)

    def exponent(self) -> Tensor | None:
        """phi as a tensor, where it is one."""
        return None

    def normalize_batch(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if self.fixed_phi in (1.0, float("inf")):
            flat = to_columns(x)
            data = flat.to(working_dtype(flat))
            mu = generalized_median(data, self.fixed_phi, 0 if data.ndim == 2 else (0, 2))
            y, var = normalize_about(data, mu, self.weight, self.bias, self.eps)
            return from_columns(y.to(x.dtype), x), mu, var
        y, mu, var, offset, record = Normalize.apply(
            x, self.weight, self.bias, self.exponent(), self.start, self.record, self.plan(x)
        )
        with torch.no_grad():
            self.record.copy_(record)
            self.start.lerp_(offset.to(self.start.dtype), 0.5)
        return y, mu, var

    @torch.no_grad()
    def compile_ahead(self, x: Tensor) -> None:
        """Compile all that training on batches like this one may need: once, before processes part that would each
        have to do it."""
        if self.fixed_phi not in (1.0, float("inf")):
            compile_ahead(x, self.weight, self.bias, self.exponent(), self.start, self.plan(x))

    def _load_from_state_dict(self, state: Mapping[str, Any], prefix: str, *args: Any) -> None:
        """A BatchNorm's state fits: it lacks only where to start."""
        known = dict(state)
        known.setdefault(f"{prefix}start", self.start)
        super()._load_from_state_dict(known, prefix, *args)

    def extra_repr(self) -> str:
        return f"{self.num_features}, phi={self.fixed_phi:g}, eps={self.eps:g}, solver={self.solver}"
