"""The second phase of `convert`: change the model as planned."""

from __future__ import annotations

from typing import cast

from torch import Tensor, nn
from torch.nn import Parameter

from normbench_cli.norms._convert.plan import ConversionPlan
from normbench_cli.operations import out_features_of
from normbench_cli.registry import NORMS


def apply_conversion(plan: ConversionPlan) -> None:
    for op, specs in plan.weight_norms.items():
        for spec in specs:
            NORMS.build(str(spec), op=op)
    for op, norm in plan.biases.items():
        add_bias(op, norm)
    for parent in plan.names:
        for name, child in parent._modules.items():
            if child in plan.replacements:
                parent._modules[name] = plan.replacements[child]
    for module in plan.in_place:
        module.inplace = False  # type: ignore[assignment]


def add_bias(op: nn.Module, norm: nn.Module | None) -> None:
    """Give an operation a bias: the beta of the norm it lost, if that has one, else zeros."""
    beta = getattr(norm, "bias", None)
    bias = cast(Tensor, op.weight).detach().new_zeros(out_features_of(op))
    if isinstance(beta, Tensor):
        bias.copy_(beta.detach())
    op.bias = Parameter(bias)
