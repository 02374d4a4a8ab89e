"""Initial weights that give every operation's output unit variance on a batch, as LSUV does (Mishkin & Matas 2016).

If the norm comes before the operation, or there is none, this output is the pre-activation.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from normbench_cli.build.init import set_weight
from normbench_cli.model_state import preserve_state
from normbench_cli.operations import Operation


def scale_to_unit_variance(model: nn.Module, inputs: Tensor, sd: float = 1.0) -> None:
    """Scale the operations' weights in one training forward pass, each before the next one sees its output.

    Biases must be zero.  An operation with a weight norm is scaled as far as the norm permits.
    sd: target standard deviation of the outputs.
    """

    def scale(op: Any, args: tuple[Any, ...], output: Tensor) -> Tensor:
        found = output.float().std(correction=0)
        if not 0 < found < torch.inf:
            return output
        set_weight(op, op.weight.detach() * (sd / found))
        scaled: Tensor = op.forward(*args)
        return scaled

    hooks = [module.register_forward_hook(scale) for module in model.modules() if isinstance(module, Operation)]
    try:
        with preserve_state(model, inputs.device), torch.no_grad():
            model.train()
            model(inputs)
    finally:
        for hook in hooks:
            hook.remove()
