"""Which operations stand next to which norms in any model: from a run, or from the order of definition."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from normbench_cli.operations import Operation, in_features_of, out_features_of


@dataclass(frozen=True)
class Adjacency:
    producer: dict[nn.Module, nn.Module]  # norm -> the operation whose output it gets
    consumers: dict[nn.Module, list[nn.Module]]  # norm -> the operations that get its output
    operations: list[nn.Module]  # in order


def find_adjacency(model: nn.Module, norms: Collection[nn.Module], example: Any = None) -> Adjacency:
    """What an example shows of the model goes before what its definition suggests; the latter stands for the parts that
    the example does not reach."""
    near = from_definition_order(model, norms)
    return near if example is None else trace(model, norms, example, near)


def from_definition_order(model: nn.Module, norms: Collection[nn.Module]) -> Adjacency:
    """A norm gets the output of the nearest operation defined before it that has as many outputs as the norm has
    channels and feeds no norm yet, and its own output goes to the next operation defined, if that takes as many."""
    line = [m for m in model.modules() if isinstance(m, Operation) or m in norms]
    producer: dict[nn.Module, nn.Module] = {}
    consumers: dict[nn.Module, list[nn.Module]] = {}
    for index, norm in enumerate(line):
        if norm not in norms:
            continue
        free = (op for op in reversed(line[:index]) if op not in norms and op not in producer.values())
        fitting = next((op for op in free if out_features_of(op) == norm.num_features), None)
        if fitting is not None:
            producer[norm] = fitting
        following = next((op for op in line[index:] if op not in norms), None)
        fits = following is not None and in_features_of(following) == norm.num_features
        consumers[norm] = [following] if following is not None and fits else []
    return Adjacency(producer, consumers, [op for op in line if op not in norms])


def trace(model: nn.Module, norms: Collection[nn.Module], example: Any, guess: Adjacency) -> Adjacency:
    """Run the example once in evaluation mode and follow the autograd graph from each input back to the operation or
    norm it comes from: through whatever has one source (activations, pooling), not through sums and concatenations."""
    came_from: dict[Any, nn.Module] = {}  # node of the autograd graph -> the module that made it
    taken: list[tuple[nn.Module, Any]] = []

    def before(module: nn.Module, args: tuple[Any, ...]) -> None:
        if args and isinstance(args[0], Tensor):
            taken.append((module, args[0].grad_fn))

    def after(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
        came_from.setdefault(output.grad_fn, module)  # an identity's output was made by the operation before it

    watched = [m for m in model.modules() if isinstance(m, Operation) or m in norms]
    hooks = [m.register_forward_pre_hook(before) for m in watched] + [m.register_forward_hook(after) for m in watched]
    modes = {m: m.training for m in model.modules()}
    try:
        with torch.enable_grad():
            model.eval()(*map(traceable, example if isinstance(example, tuple) else (example,)))
    finally:
        for hook in hooks:
            hook.remove()
        for module, mode in modes.items():
            module.training = mode
    came_from.pop(None, None)
    producer, consumers = dict(guess.producer), dict(guess.consumers)
    seen = {module for module, _ in taken}
    for norm in seen & set(norms):
        producer.pop(norm, None)
        consumers[norm] = []
    for module, node in taken:
        source = producing_module(node, came_from)
        if module in norms and source is not None and source not in norms:
            producer[module] = source
        elif module not in norms and source is not None and source in norms:
            consumers[source].append(module)
    used = list(dict.fromkeys(m for m, _ in taken if m not in norms))
    return Adjacency(producer, consumers, used or guess.operations)


def traceable(value: Any) -> Any:
    """The same input, but autograd follows it even where all parameters are frozen."""
    return value.detach().clone().requires_grad_() if isinstance(value, Tensor) and value.is_floating_point() else value


def producing_module(node: Any, came_from: dict[Any, nn.Module]) -> nn.Module | None:
    while node is not None and node not in came_from:
        parents = {parent for parent, _ in node.next_functions if parent is not None}
        sources = {parent for parent in parents if not hasattr(parent, "variable")}  # parameters are no sources
        node = sources.pop() if len(sources) == 1 else None
    return came_from.get(node)
