"""What layers report about their solvers: iterations, convergence, error bounds; and that the warm start saves work."""

from __future__ import annotations

import pytest
import torch

from normbench_cli.norms._ggm.stats import SolverTotals, add_call
from normbench_cli.norms.augnorm import AugNorm


def test_calls_add_up_to_means_and_maxima() -> None:
    totals = torch.zeros(len(SolverTotals._fields))
    for iterations, converged, error in (([2.0, 4.0], [True, False], [1e-6, 1e-3]), ([1.0, 1.0], [True, True], [0, 0])):
        totals = add_call(totals, torch.tensor(iterations), torch.tensor(converged), torch.tensor(error))
    assert dict(zip(SolverTotals._fields, totals.tolist(), strict=True)) == pytest.approx(
        {"calls": 2, "mean_iterations": 4.0, "max_iterations": 4.0, "unconverged": 0.5, "max_error": 1e-3}
    )
    layer = AugNorm(2)
    layer.solver_totals.copy_(totals)
    found = {name: float(value) for name, value in layer.solver_statistics().items()}
    assert found == pytest.approx(
        {"iterations_mean": 2.0, "iterations_max": 4.0, "unconverged": 0.25, "residual": 1e-3, "error_bound": 0}
    )
    assert "record" not in layer.state_dict()


@pytest.mark.parametrize("phi", [1.2, 1.5, 3.0])
def test_warm_start_saves_iterations(phi: float) -> None:
    """On data that are alike but not the same, whose center is far from their mean."""
    torch.manual_seed(0)
    *before, batch = [torch.randn(4096, 8).exp() for _ in range(10)]
    warm, cold = (AugNorm(8, phi=phi, tol="exact") for _ in range(2))
    for earlier in before:
        warm(earlier)
    warm.reset_solver_statistics()
    resumed = AugNorm(8, phi=phi, tol="exact")
    resumed.load_state_dict(warm.state_dict())
    iterations = []
    for layer in (warm, resumed, cold):
        layer(batch)
        iterations.append(float(layer.solver_statistics()["iterations_mean"]))
    assert iterations[0] == iterations[1] < 0.75 * iterations[2]


def test_solver_statistics_count_and_reset() -> None:
    torch.manual_seed(0)
    layer, x = AugNorm(4, tol="exact"), torch.randn(64, 4, 8, 8) * 2 + 3
    for _ in range(8):
        layer(x)
    layer.reset_solver_statistics()
    assert not any(layer.solver_statistics().values())
    layer(x)
    found = {name: float(value) for name, value in layer.solver_statistics().items()}
    assert found["iterations_mean"] <= 2.5
    assert found["iterations_max"] >= found["iterations_mean"] > 0
    assert found["unconverged"] == 0
    assert found["residual"] < 1e-5
    plain = AugNorm(4, phi=1.2, solver="newton:iterations=4")
    plain((x - 5).relu())
    assert plain.solver_statistics()["iterations_max"] == 4
    assert plain.solver_statistics()["unconverged"] > 0


def test_layers_in_bfloat16_count_every_call() -> None:
    layer, x = AugNorm(1).bfloat16(), torch.randn(8, 1, dtype=torch.bfloat16)
    for _ in range(600):
        layer(x)
    assert SolverTotals(*layer.solver_totals.unbind()).calls == 600
    assert layer.largest_error.dtype == torch.float32
