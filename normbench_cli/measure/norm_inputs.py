"""The input values of some of a model's layers, recorded by hooks while it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from torch import Tensor, nn

Shape = tuple[int, ...]


class Seen(NamedTuple):
    """counts: number of calls with each shape.  first: for each shape, the name of the layer whose values are kept.
    values: inputs of that layer's first call with the shape, on the CPU."""

    counts: Counter[Shape]
    first: dict[Shape, str]
    values: dict[Shape, Tensor]


def norm_inputs(modules: Mapping[str, nn.Module], run: Callable[[], object], preferred: str = "") -> Seen:
    """Record the inputs of these modules during one run.  Values are kept only for the first layer of each shape, or
    the preferred layer for its shape, as those of all layers might not fit into memory."""
    seen = Seen(Counter(), {}, {})

    def note(name: str, _: nn.Module, inputs: tuple[Any, ...]) -> None:
        shape = tuple(inputs[0].shape)
        seen.counts[shape] += 1
        if seen.first.get(shape) == name or (shape in seen.first and name != preferred):
            return
        seen.first[shape] = name
        seen.values[shape] = inputs[0].detach().to("cpu", copy=True)

    hooks = [module.register_forward_pre_hook(partial(note, name)) for name, module in modules.items()]
    try:
        run()
    finally:
        for hook in hooks:
            hook.remove()
    return seen
