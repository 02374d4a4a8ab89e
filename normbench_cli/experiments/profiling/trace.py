"""`normbench profile --trace FILE`: one step of every contender as a Chrome trace, with the norm layers named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from torch import nn

from normbench_cli.build.resolution import with_choices
from normbench_cli.disk import write_bytes
from normbench_cli.errors import NormbenchError, UsageError
from normbench_cli.experiments.norm_layers import norm_layers
from normbench_cli.experiments.profiling.plan import ProfilePlan, places
from normbench_cli.experiments.profiling.steps import Place
from normbench_cli.experiments.profiling.workloads import make_contenders
from normbench_cli.measure.cases import calling
from normbench_cli.measure.trace import named_ranges, traced
from normbench_cli.registry import NORMS

WARM_UP = 2  # steps before the traced one


def check_trace_file(path: Path) -> Path:
    """Check that the file can be written, before anything is measured."""
    if path.is_dir():
        raise UsageError(f"--trace {path} is a folder", f"name a file: {path / 'trace.json'}")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"--trace {path}: there is no folder {path.parent}", "make it, or name another file")
    return path


def write_trace(plan: ProfilePlan, path: Path) -> None:
    """Trace a step of the model if the plan measures one, otherwise a call of the layers in its first case.

    Only what a layer compiles itself is compiled, because layers have no names in a compiled model.
    """
    plan = replace(plan, configs=tuple(with_choices(config, compile=False) for config in plan.configs))
    every = list(places(plan))
    place = as_traced(next((one for one in every if one.case is None), every[0]))
    with ExitStack() as block:
        if place.case:
            block.enter_context(calling(place.case.call))
        contenders = make_contenders(plan, place)
        if not contenders.workloads:
            raise NormbenchError(f"nothing can be traced at {place.condition}", "name norms that fit")
        work = {}
        for norm, workload in contenders.workloads.items():
            for _ in range(WARM_UP):
                workload.step()
            step = f"{norm}: step of {place.condition}" if place.case is None else f"{norm}: layer {place.condition}"
            block.enter_context(named_ranges(layers_of(place, norm, workload.model)))
            work[step] = workload.step
        content = traced(work, plan.device)
    try:
        write_bytes(path, content)
    except OSError as error:
        raise NormbenchError(f"{path} cannot be written: {error.strerror}", "name another file with --trace") from error


def as_traced(place: Place) -> Place:
    """The place to trace: with `compiled` layers left uncompiled, and with the forward pass."""
    if place.case is None:
        return place
    call = "layer" if place.case.call == "compiled" else place.case.call
    timed = "both" if place.case.timed == "backward" else place.case.timed
    return replace(place, case=replace(place.case, call=call, timed=timed))


def layers_of(place: Place, norm: str, model: nn.Module) -> Mapping[str, nn.Module]:
    """The normalizing modules, by their names in the trace."""
    return {norm: model} if place.case else dict(named_layers(norm, model))


def named_layers(norm: str, model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Yield names such as `layer1.0.bn1 popnorm`; a weight norm is the parametrization of the operation's weight."""
    for layer in norm_layers(model, NORMS.parse_norm(norm)):
        module = model.get_submodule(layer.name)
        if layer.placement == "weight":
            module = model.get_submodule(f"{layer.name}.parametrizations.weight")
        yield f"{layer.name} {layer.norm}", module
