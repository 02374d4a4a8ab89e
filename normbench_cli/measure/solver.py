"""Metrics of layers that compute their center iteratively (solver/...) and of learned exponents (phi/...)."""

from __future__ import annotations

import torch
from torch import nn

from normbench_cli.device import in_float64
from normbench_cli.norms.protocols import HasSolverStatistics, learns_phi

NAMES = ("iterations_mean", "iterations_max", "unconverged", "residual")  # reported by every such layer


def solver_layers(model: nn.Module) -> list[HasSolverStatistics]:
    return [module for module in model.modules() if isinstance(module, HasSolverStatistics)]


def solver_metrics(model: nn.Module) -> dict[str, float]:
    """Solver statistics since the last call, over all layers: mean and maximum number of iterations, fraction of
    channels that did not converge, largest residual in standard deviations, and, if layers report it, the largest error
    bound in standard errors.  Empty without such layers."""
    layers = solver_layers(model)
    if not layers:
        return {}
    by_layer = [layer.solver_statistics() for layer in layers]
    statistics = {name: torch.stack([in_float64(of[name]) for of in by_layer]) for name in NAMES}
    reset_solver_statistics(model)
    bounds = [of["error_bound"].item() for of in by_layer if "error_bound" in of]
    return {
        "solver/iterations_mean": statistics["iterations_mean"].mean().item(),
        "solver/iterations_max": statistics["iterations_max"].max().item(),
        "solver/unconverged": statistics["unconverged"].mean().item(),
        "solver/residual": statistics["residual"].max().item(),
        **({"solver/error_bound": max(bounds)} if bounds else {}),
    }


def reset_solver_statistics(model: nn.Module) -> None:
    for layer in solver_layers(model):
        layer.reset_solver_statistics()


def phi_metrics(model: nn.Module) -> dict[str, float]:
    """Mean, smallest and largest of all learned phi.  Empty without such layers."""
    learned = [module.phi for module in model.modules() if learns_phi(module)]
    if not learned:
        return {}
    phi = torch.cat([each.detach().flatten() for each in learned]).float()
    return {"phi/mean": phi.mean().item(), "phi/min": phi.min().item(), "phi/max": phi.max().item()}
