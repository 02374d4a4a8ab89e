"""Workloads to profile: a single layer, on normal or given data, as a `LayerCase` describes."""

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
from normbench_cli.measure.start import beginning_at, kept_starts, started
from normbench_cli.measure.timing import Work

SEARCHING = ("both", "forward")  # the passes in which a solver runs
BATCHES_BEFORE = 10  # a start is a running mean: after this many calls its initial value is negligible


@dataclass(frozen=True)
class Workload:
    """Something to time.

    step: the work itself.  saved_bytes: what its forward pass saves for backward.  model: the layer or network that it
    runs.  does_nothing: it returns its input, as an identity does.
    """

    step: Callable[[], object]
    saved_bytes: int
    model: nn.Module
    does_nothing: bool = False


@dataclass(frozen=True)
class LayerData:
    """An input and a gradient for the output.  All contenders share it: the location of data in memory affects speed.

    before: the previous batch's input, if known, which determines warm starts; None: x itself does.
    """

    x: Tensor
    gradient: Tensor
    before: Tensor | None = None

    @classmethod
    def make(cls, case: LayerCase, device: torch.device, values: tuple[Tensor, Tensor] | None = None) -> LayerData:
        """Equal cases have equal data.  values: an input and the previous batch's, instead of a normal one."""
        generator = torch.Generator().manual_seed(0)
        normal, gradient = (torch.randn(case.shape, generator=generator) for _ in range(2))
        x, before = values or (normal, None)
        last = case.memory_format == "channels_last" and len(case.shape) == 4
        form = torch.channels_last if last else torch.contiguous_format

        def placed(tensor: Tensor) -> Tensor:
            return tensor.detach().to(device, case.torch_dtype).contiguous(memory_format=form)

        x = placed(x).requires_grad_(case.timed != "eval")
        return cls(x, placed(gradient), None if before is None else placed(before))


def layer_workload(layer: nn.Module, case: LayerCase, device: torch.device, data: LayerData | None = None) -> Workload:
    """The layer with its parameters in the case's dtype; all compilation happens here."""
    data = data or LayerData.make(case, device)
    layer = layer.to(device, case.torch_dtype).train(case.timed != "eval")
    called = call_of(layer, case.shape, device)
    call: Call = torch.compile(called, mode=case.compile_mode) if case.compiles else called

    def forward() -> Tensor:
        if case.compile_mode:
            torch.compiler.cudagraph_mark_step_begin()  # the last call's outputs may be overwritten from here on
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
    if case.timed in SEARCHING:
        step = begun(step, layer, case, data)
    return Workload(step, saved, layer, does_nothing=y is data.x)


def begun(step: Work, layer: nn.Module, case: LayerCase, data: LayerData) -> Work:
    """The step with the case's kind of start; a warm one comes from the previous batch."""
    kept = kept_starts(layer)
    if case.start == "cold" or data.before is None or not kept:
        return started(step, layer, case.start)
    call = call_of(layer, tuple(data.before.shape), data.x.device)
    with torch.no_grad(), autocast(data.x.device, case.amp):
        for _ in range(BATCHES_BEFORE):
            call(data.before)
    return beginning_at(step, kept, [each.clone() for each in kept])


def without_gradients(forward: Callable[[], Tensor]) -> Callable[[], Tensor]:
    def step() -> Tensor:
        with torch.no_grad():
            return forward()

    return step


def both(forward: Callable[[], Tensor], parameters: Sequence[Tensor], gradient: Tensor) -> Callable[[], object]:
    return lambda: gradients(forward(), parameters, gradient)


def gradients(y: Tensor, parameters: Sequence[Tensor], gradient: Tensor, *, keep: bool = False) -> object:
    """Gradients of the input and the learned parameters; for an identity, the input's is the given gradient."""
    return torch.autograd.grad(y, parameters, gradient.to(y.dtype), retain_graph=keep, allow_unused=True)
