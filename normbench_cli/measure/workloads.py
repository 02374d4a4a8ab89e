"""What is profiled: a layer alone, on normally distributed data, in one of the ways of a `LayerCase`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from normbench_cli.device import autocast
from normbench_cli.measure.cases import LayerCase
from normbench_cli.measure.contenders import Call, call_of
from normbench_cli.measure.memory import saved_activation_bytes


@dataclass(frozen=True)
class Workload:
    """Something to be timed.

    step: the work itself.  saved_bytes: what its forward pass saves for backward.  model: the layer or network that it
    runs.  does_nothing: it gives back its input, as an identity does.
    """

    step: Callable[[], object]
    saved_bytes: int
    model: nn.Module
    does_nothing: bool = False


@dataclass(frozen=True)
class LayerData:
    """An input and a gradient for the output.  All contenders get the same: where data lie in memory affects speed."""

    x: Tensor
    gradient: Tensor

    @classmethod
    def make(cls, case: LayerCase, device: torch.device) -> LayerData:
        """Equal cases have equal data."""
        generator = torch.Generator().manual_seed(0)
        x, gradient = (torch.randn(case.shape, generator=generator).to(device, case.torch_dtype) for _ in range(2))
        if case.memory_format == "channels_last" and len(case.shape) == 4:
            x, gradient = (t.contiguous(memory_format=torch.channels_last) for t in (x, gradient))
        return cls(x.requires_grad_(case.timed != "eval"), gradient)


def layer_workload(layer: nn.Module, case: LayerCase, device: torch.device, data: LayerData | None = None) -> Workload:
    """The layer with its parameters in the case's type; everything that is compiled is compiled here."""
    data = data or LayerData.make(case, device)
    layer = layer.to(device, case.torch_dtype).train(case.timed != "eval")
    called = call_of(layer, case.shape, device)
    call: Call = torch.compile(called, mode=case.compile_mode) if case.compiles else called

    def forward() -> Tensor:
        if case.compile_mode:
            torch.compiler.cudagraph_mark_step_begin()  # what the last call gave may be overwritten from here on
        with autocast(device, case.amp):
            return call(data.x)

    if case.timed == "eval":
        evaluate = without_gradients(forward)
        return Workload(evaluate, 0, layer, does_nothing=evaluate() is data.x)
    y = forward()
    saved = saved_activation_bytes(forward, layer)
    parameters = [data.x, *(p for p in layer.parameters() if p.requires_grad)]
    step: Callable[[], object] = forward
    if case.timed == "backward":
        step = partial(gradients, y, parameters, data.gradient, keep=True)
    elif case.timed == "both":
        step = both(forward, parameters, data.gradient)
    return Workload(step, saved, layer, does_nothing=y is data.x)


def without_gradients(forward: Callable[[], Tensor]) -> Callable[[], Tensor]:
    def step() -> Tensor:
        with torch.no_grad():
            return forward()

    return step


def both(forward: Callable[[], Tensor], parameters: Sequence[Tensor], gradient: Tensor) -> Callable[[], object]:
    return lambda: gradients(forward(), parameters, gradient)


def gradients(y: Tensor, parameters: Sequence[Tensor], gradient: Tensor, *, keep: bool = False) -> object:
    """Those of the input and of what is learned; an identity returns its input, whose gradient is the one given."""
    return torch.autograd.grad(y, parameters, gradient.to(y.dtype), retain_graph=keep, allow_unused=True)
