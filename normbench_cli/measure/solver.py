"""What the solvers in a model's layers did since the last look: iterations, residuals, channels not converged."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


def solver_layers(model: nn.Module) -> list[Any]:
    """The layers that find their centre by iteration; each keeps its own counts, on the device."""
    return [module for module in model.modules() if hasattr(module, "solver_statistics")]


def phi_metrics(model: nn.Module) -> dict[str, float]:
    """Of all learned phi: mean, smallest and largest.  Empty without such layers."""
    found = [phi for module in model.modules() if isinstance(phi := getattr(module, "phi", None), torch.Tensor)]
    if not found:
        return {}
    phi = torch.cat([each.detach().flatten() for each in found]).float()
    return {"phi/mean": phi.mean().item(), "phi/min": phi.min().item(), "phi/max": phi.max().item()}


def solver_metrics(model: nn.Module) -> dict[str, float]:
    """Over all layers with a solver: mean and largest number of iterations, share of channels not converged, largest
    residual in standard deviations.  Empty without such layers.  Begins to count anew."""
    layers = solver_layers(model)
    if not layers:
        return {}
    facts = [layer.solver_statistics() for layer in layers]
    together = {name: torch.stack([fact[name].double() for fact in facts]) for name in facts[0]}
    for layer in layers:
        layer.reset_solver_statistics()
    return {
        "solver/iterations_mean": together["iterations_mean"].mean().item(),
        "solver/iterations_max": together["iterations_max"].max().item(),
        "solver/unconverged": together["unconverged"].mean().item(),
        "solver/residual": together["residual"].max().item(),
    }
