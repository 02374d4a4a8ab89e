"""Traces of torch's profiler in which the forward and backward passes of a network's layers are named.

In the backward pass, a layer consists of its nodes in autograd's graph, from its output back to its inputs; each node
has its own range.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.profiler import record_function

from normbench_cli.device import on_accelerator, synchronize

LEAF = "AccumulateGrad"
Node = Any  # of autograd's graph: torch has no public type for it


@contextmanager
def named_ranges(layers: Mapping[str, nn.Module]) -> Iterator[None]:
    """Within the block, traces name the passes of these modules `<name> forward` and `<name> backward`."""
    hooks = [hook for name, layer in layers.items() for hook in hooks_of(name, layer)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def hooks_of(name: str, layer: nn.Module) -> list[Any]:
    running: list[Any] = []  # a module may be called within itself

    def before(*_: Any) -> None:
        running.append(entered(f"{name} forward"))

    def after(_: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        if running:
            running.pop().__exit__(None, None, None)
        for node in nodes_between(output, inputs):
            name_node(node, f"{name} backward")

    return [layer.register_forward_pre_hook(before), layer.register_forward_hook(after)]


def nodes_between(output: Any, inputs: tuple[Any, ...]) -> list[Node]:
    """The nodes that compute an output from inputs, excluding those that computed the inputs, and parameters."""
    end = {one.grad_fn for one in inputs if isinstance(one, Tensor)}
    to_see = [output.grad_fn] if isinstance(output, Tensor) else []
    found: dict[Node, None] = {}
    while to_see:
        node = to_see.pop()
        if node is not None and node not in end and node not in found and LEAF not in node.name():
            found[node] = None
            to_see += [following for following, _ in node.next_functions]
    return list(found)


def name_node(node: Node, name: str) -> None:
    running: list[Any] = []
    node.register_prehook(lambda gradients: running.append(entered(name)))
    node.register_hook(lambda *gradients: running.pop().__exit__(None, None, None) if running else None)


def entered(name: str) -> Any:
    scope = record_function(name)
    scope.__enter__()
    return scope


def traced(work: Mapping[str, Callable[[], object]], device: torch.device) -> bytes:
    """Trace one call of each workload, under its name.  Returns a Chrome trace: JSON that Perfetto and Chrome open."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # otherwise the profiler's library logs to stderr
    activities = [torch.profiler.ProfilerActivity.CPU]
    if on_accelerator(device):
        activities += torch.profiler.supported_activities() - {torch.profiler.ProfilerActivity.CPU}
    with torch.profiler.profile(activities=activities) as profiler:
        for name, call in work.items():
            with record_function(name):
                call()
                synchronize(device)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        return path.read_bytes()
