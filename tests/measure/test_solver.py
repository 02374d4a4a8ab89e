"""Solver statistics of all layers are one set of metrics, and counting starts anew after each reading."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from normbench_cli.measure.solver import phi_metrics, reset_solver_statistics, solver_metrics
from normbench_cli.norms.augnorm import AugNorm


class Counting(nn.Module):
    """A layer that says it iterated."""

    def __init__(self, mean: float, most: float) -> None:
        super().__init__()
        self.counts = {"iterations_mean": mean, "iterations_max": most, "unconverged": 0.5, "residual": mean / 10}

    def solver_statistics(self) -> dict[str, Tensor]:
        return {name: torch.tensor(value) for name, value in self.counts.items()}

    def reset_solver_statistics(self) -> None:
        self.counts = dict.fromkeys(self.counts, 0.0)


class LearnedPhi(nn.Module):
    """A layer that learns phi."""

    def __init__(self, *values: float) -> None:
        super().__init__()
        self.raw = nn.Parameter(torch.tensor(values))

    @property
    def phi(self) -> Tensor:
        return self.raw


def test_layers_are_put_together() -> None:
    net = nn.Sequential(Counting(1, 4), nn.ReLU(), Counting(3, 5))
    assert solver_metrics(net) == pytest.approx(
        {
            "solver/iterations_mean": 2,
            "solver/iterations_max": 5,
            "solver/unconverged": 0.5,
            "solver/residual": 0.3,
        }
    )
    assert solver_metrics(net)["solver/iterations_max"] == 0


def test_the_largest_error_bound_of_the_layers_that_know_theirs_is_reported() -> None:
    layers = AugNorm(2), AugNorm(2)
    for layer, bound in zip(layers, (0.01, 0.015), strict=True):
        layer.largest_error.fill_(bound)
    net = nn.Sequential(Counting(1, 4), *layers)
    assert solver_metrics(net)["solver/error_bound"] == pytest.approx(0.015)
    assert solver_metrics(net)["solver/error_bound"] == 0


def test_counts_can_be_dropped() -> None:
    net = nn.Sequential(Counting(1, 4))
    reset_solver_statistics(net)
    assert solver_metrics(net)["solver/iterations_max"] == 0


def test_a_model_without_solvers_has_no_such_metrics() -> None:
    assert solver_metrics(nn.Linear(1, 1)) == {}


def test_learned_phi_is_summarized() -> None:
    net = nn.Sequential(LearnedPhi(1.2, 1.6), nn.Linear(2, 2), LearnedPhi(2.0))
    assert phi_metrics(net) == pytest.approx({"phi/mean": 1.6, "phi/min": 1.2, "phi/max": 2.0})
    assert phi_metrics(nn.Linear(1, 1)) == {}
