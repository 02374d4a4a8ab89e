"""The layer `diffphi`: `augnorm` that learns its phi, one for each channel."""

from __future__ import annotations

import torch
from torch import Tensor

from normbench_cli.norms._ggm.certified import Tolerance
from normbench_cli.norms._ggm.kernels import SolverOptions
from normbench_cli.norms._ggm.learned_phi import LearnablePhi, LearnsPhiModule, PhiRange
from normbench_cli.norms._ggm.operators import as_text
from normbench_cli.norms.augnorm import AugNorm
from normbench_cli.registry import NORMS
from normbench_cli.registry.bounds import NotNegative, Share


@NORMS.register("diffphi", paper="AugNorm", placement="after", needs_batch=True, removes_mean=True)
class DiffPhi(AugNorm, LearnsPhiModule):
    """AugNorm with phi learned per channel, held inside its range by its parametrization.

        phi = low + (high - low) sigmoid(phi_raw),
        dmu/dphi = sum d w ln|d| / ((phi-1) sum w),   d = x - mu,   w = |d|^(phi-2)

    If phi were clamped to its range after each step, it would have no gradient at the bound and stick there.  Source:
    "Augmented Normalization", Algorithm 1, with dmu/dphi corrected: the paper's is phi times too small (E5).

    init, low, high: initial phi, and its range
    eps, momentum, affine, solver, tol: as in augnorm

    ``phi_raw.weight_decay_group`` is "phi", so that an optimizer can exempt it from weight decay, which would pull phi
    to the middle of its range.
    """

    def __init__(
        self,
        num_features: int,
        init: LearnablePhi = 1.5,
        low: LearnablePhi = 1.2,
        high: LearnablePhi = 2.0,
        eps: NotNegative = 1e-5,
        momentum: Share = 0.1,
        affine: bool = True,
        solver: str = "safe",
        tol: Tolerance = 0.02,
    ) -> None:
        if not low < init < high:
            raise ValueError(f"low < init < high does not hold for {low:g}, {init:g}, {high:g}: change them")
        self.range = PhiRange(low, high)
        super().__init__(num_features, phi=init, eps=eps, momentum=momentum, affine=affine, solver=solver, tol=tol)
        self.fixed_phi = None
        self.register_phi_raw(self.range.raw(init, num_features, computed_in=torch.float64))
        self.options_as_text = as_text(self.solver_options(self.start))

    @property
    def phi(self) -> Tensor:
        assert self.phi_raw is not None
        return self.range.phi(self.phi_raw)

    def phi_tensor(self) -> Tensor:
        return self.phi

    def solver_options(self, x: Tensor) -> SolverOptions:
        return super().solver_options(x)._replace(above_two=self.range.high > 2)

    def extra_repr(self) -> str:
        low, high = self.range
        return (
            f"{self.num_features}, phi in [{low:g}, {high:g}], eps={self.eps:g}, solver={self.solver}, tol={self.tol}"
        )
