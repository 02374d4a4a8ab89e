"""What solvers count comes together in one set of metrics, and counting begins anew after each look."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from normbench_cli.measure.solver import phi_metrics, solver_metrics


class Counting(nn.Module):
    """A layer that says it iterated."""

    def __init__(self, mean: float, most: float) -> None:
        super().__init__()
        self.facts = {"iterations_mean": mean, "iterations_max": most, "unconverged": 0.5, "residual": mean / 10}

    def solver_statistics(self) -> dict[str, Tensor]:
        return {name: torch.tensor(value) for name, value in self.facts.items()}

    def reset_solver_statistics(self) -> None:
        self.facts = dict.fromkeys(self.facts, 0.0)


def test_layers_are_put_together() -> None:
    net = nn.Sequential(Counting(1, 4), nn.ReLU(), Counting(3, 5))
    metrics = solver_metrics(net)
    assert metrics["solver/iterations_mean"] == 2
    assert metrics["solver/iterations_max"] == 5
    assert metrics["solver/unconverged"] == 0.5
    assert solver_metrics(net)["solver/iterations_max"] == 0


def test_a_model_without_solvers_has_no_such_metrics() -> None:
    assert solver_metrics(nn.Linear(1, 1)) == {}


def test_learned_phi_is_summed_up() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Identity())
    net[1].phi = torch.tensor([1.2, 1.6])
    assert phi_metrics(net) == pytest.approx({"phi/mean": 1.4, "phi/min": 1.2, "phi/max": 1.6})
    assert phi_metrics(nn.Linear(1, 1)) == {}
