"""Which operation feeds which norm in any model: traced in a run, or guessed from the order of definition."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from normbench_cli.operations import Operation, in_features_of, out_features_of


@dataclass(frozen=True)
class Adjacency:
    producer: dict[nn.Module, nn.Module] = field(default_factory=dict)  # norm -> the operation whose output it gets
    consumers: dict[nn.Module, list[nn.Module]] = field(default_factory=dict)  # norm -> operations that get its output
    operations: list[nn.Module] = field(default_factory=list)  # in order


def find_adjacency(model: nn.Module, norms: Collection[nn.Module], example: Any = None) -> Adjacency:
    """Trace a run of the example, if there is one; use the order of definition for modules that it does not reach."""
    guess = from_definition_order(model, norms)
    return guess if example is None else trace(model, norms, example, guess)


def from_definition_order(model: nn.Module, norms: Collection[nn.Module]) -> Adjacency:
    """Assume that a norm gets the output of the nearest operation defined before it that has as many outputs as the
    norm has channels and feeds no other norm, and feeds the next operation defined, if that has as many inputs."""
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
    """Run the example once and follow the autograd graph from each input of an operation or norm to its origin.

    Assumptions: the first argument of a module is its input; autograd records the run, so nothing is detached in
    between; a module's output has its own node in the graph.  A path is followed as long as it has one source
    (activations, pooling, reshaping); it ends without an origin at sums and concatenations.
    """
    origins, inputs = record_run(model, [m for m in model.modules() if isinstance(m, Operation) or m in norms], example)
    producer, consumers = dict(guess.producer), dict(guess.consumers)
    for norm in {module for module, _ in inputs} & set(norms):
        producer.pop(norm, None)
        consumers[norm] = []
    for module, node in inputs:
        source = producing_module(node, origins)
        if module in norms and source is not None and source not in norms:
            producer[module] = source
        elif module not in norms and source is not None and source in norms:
            consumers[source].append(module)
    used = list(dict.fromkeys(module for module, _ in inputs if module not in norms))
    return Adjacency(producer, consumers, used or guess.operations)


def record_run(
    model: nn.Module, watched: list[nn.Module], example: Any
) -> tuple[dict[Any, nn.Module], list[tuple[nn.Module, Any]]]:
    """Run the example in evaluation mode and leave the model as it was.

    Returns the module that made each node of the autograd graph, and each module call with the node of its input.
    """
    origins: dict[Any, nn.Module] = {}
    inputs: list[tuple[nn.Module, Any]] = []

    def before(module: nn.Module, args: tuple[Any, ...]) -> None:
        if args and isinstance(args[0], Tensor):
            inputs.append((module, args[0].grad_fn))

    def after(module: nn.Module, _args: tuple[Any, ...], output: Tensor) -> None:
        origins.setdefault(output.grad_fn, module)  # an identity's output was made by the operation before it

    hooks = [m.register_forward_pre_hook(before) for m in watched] + [m.register_forward_hook(after) for m in watched]
    modes = {m: m.training for m in model.modules()}
    try:
        with torch.enable_grad():
            model.eval()(*map(requiring_grad, example if isinstance(example, tuple) else (example,)))
    finally:
        for hook in hooks:
            hook.remove()
        for module, mode in modes.items():
            module.training = mode
    origins.pop(None, None)
    return origins, inputs


def requiring_grad(value: Any) -> Any:
    """Return a copy of an input that autograd tracks even if all parameters are frozen."""
    return value.detach().clone().requires_grad_() if isinstance(value, Tensor) and value.is_floating_point() else value


def producing_module(node: Any, origins: dict[Any, nn.Module]) -> nn.Module | None:
    """The module whose output a node of the autograd graph comes from, if there is exactly one path to it."""
    while node is not None and node not in origins:
        parents = {parent for parent, _ in node.next_functions if parent is not None}
        sources = {parent for parent in parents if not hasattr(parent, "variable")}  # leaves, such as parameters
        node = sources.pop() if len(sources) == 1 else None
    return origins.get(node)
