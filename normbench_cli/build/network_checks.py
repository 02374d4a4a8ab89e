"""Checks of a network on torch's `meta` device, before anything is allocated.  They reject a size beyond the memory,
groups that do not divide the channels of every layer, a norm of single values, and logits of the wrong shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from normbench_cli.device import memory_bytes
from normbench_cli.errors import UsageError, first_sentence
from normbench_cli.norms.protocols import NormalizesGroups, SyncsStatistics
from normbench_cli.registry import NORMS
from normbench_cli.registry.norm_spec import NormSpec, is_from_outside
from normbench_cli.registry.spec import join_spec

COPIES = 2  # of every weight, at least: itself and its gradient


def check_memory(network: nn.Module, model: str) -> None:
    """Reject a network whose weights and gradients alone exceed this machine's memory."""
    needed = COPIES * sum(p.numel() * p.element_size() for p in network.parameters())
    if needed > (there := memory_bytes()):
        raise UsageError(
            f"model '{model}' needs {in_units(needed)} for its weights and their gradients, and this machine has "
            f"{in_units(there)} of memory",
            "give a smaller one",
        )


def in_units(size: float) -> str:
    """Format a size: 1.5 GB; 8,000 TB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} TB" if size < 1000 else f"{size:,.0f} TB"


def check_sync(norm: str) -> None:
    """Reject a norm that may have batch statistics and cannot share them with other processes."""
    parsed = NORMS.parse_norm(norm)
    layer = parsed.data_norm.entry.load() if parsed.data_norm else None
    shares = isinstance(layer, type) and issubclass(layer, SyncsStatistics)
    if parsed.data_norm and not shares and (parsed.needs_batch or is_from_outside(parsed.data_norm.entry)):
        raise UsageError(
            f"sync_norm is on, and norm '{norm}' has no method sync_over(group) to share its statistics",
            "drop --sync-norm, or give the layer this method",
        )


def check_groups(norm: str, make: Callable[[str], nn.Module]) -> None:
    """Reject a number of groups that does not divide the channels of every layer, and suggest ones that do.

    make: makes the network with a norm spec, on the `meta` device.
    """
    parsed = NORMS.parse_norm(norm)
    groups = parsed.data_norm.params.get("groups") if parsed.data_norm else None
    if not isinstance(groups, int):
        return
    channels = sorted({layer.num_features for layer in grouped_layers(make(without_groups(parsed)))})
    if any(number % groups for number in channels):
        largest = math.gcd(*channels)
        fitting = [str(number) for number in range(1, largest + 1) if largest % number == 0]
        raise UsageError(
            f"norm '{norm}': {groups} groups do not divide the channels of every layer, which are {listed(channels)}",
            f"give {', '.join(fitting)}, or leave groups out for a number that fits each layer",
        )


def without_groups(parsed: NormSpec) -> str:
    """The spec without its number of groups."""
    parts = [
        join_spec(part.entry.name, {key: value for key, value in part.params.items() if key != "groups"})
        for part in parsed.parts
    ]
    return "+".join(parts)


def grouped_layers(network: nn.Module) -> Iterator[Any]:
    return (module for module in network.modules() if isinstance(module, NormalizesGroups))


def listed(numbers: Sequence[int]) -> str:
    words = [str(number) for number in numbers]
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


@contextmanager
def refusing_single_values(network: nn.Module, norm: str) -> Iterator[None]:
    """Within the block, a forward pass raises an error if a layer would normalize single values: such a value is its
    own mean, so the output would be the same for any data."""

    def check(layer: NormalizesGroups, inputs: tuple[Tensor, ...]) -> None:
        shape = tuple(inputs[0].shape)
        if layer.values_per_statistic(shape) == 1:
            name = next(name for name, module in network.named_modules() if module is layer)
            raise UsageError(
                f"norm '{norm}' would normalize single values in the layer '{name}', whose input is (N"
                f"{''.join(f', {size}' for size in shape[1:])}), so that its output is the same for any data",
                "use a norm over the batch or over several channels"
                + ("" if len(shape) > 2 else ", or a model whose layers see images")
                + (", or classifier=false" if NORMS.parse_norm(norm).placement == "before" else ""),
            )

    hooks = [layer.register_forward_pre_hook(check) for layer in grouped_layers(network)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def check_scores(scores: object, classes: int, model: str) -> None:
    """Reject a model whose output is not one logit per class."""
    shape = tuple(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
    if shape != (2, classes):
        raise UsageError(
            f"model '{model}' gives {shape} for two examples of {classes} classes", f"make it give (2, {classes})"
        )


def check_objective(objective: Callable[[Tensor], Tensor], spec: str, batch_size: int) -> None:
    """Reject an objective that does not reduce the losses of a batch, of any size, to one number."""
    for examples in {batch_size, 3}:
        losses = torch.ones(examples, requires_grad=True)
        try:
            found = objective(losses)
        except Exception as error:  # a user's class may fail in any way
            raise UsageError(
                f"objective '{spec}' cannot take the losses of {examples} examples: {first_sentence(error)}",
                "see `list objectives`",
            ) from error
        check_loss(found, spec)


def check_loss(found: object, spec: str) -> None:
    if not isinstance(found, Tensor) or found.numel() != 1 or not found.requires_grad:
        raise UsageError(
            f"objective '{spec}' does not make one number of the losses of a batch", "see `list objectives`"
        )
