"""The normalization layers of a model: where each one is, and the parameters that it actually has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from torch import nn
from torch.nn.utils import parametrize

from normbench_cli.operations import Operation
from normbench_cli.registry import NORMS
from normbench_cli.registry.norm_spec import NormSpec

Value = bool | int | float | str


@dataclass(frozen=True)
class NormLayer:
    """A normalization layer, or an operation whose weight is normalized.

    name: within the model.  operation: the one that it follows or precedes, or itself.  parameters: the values of its
    constructor's parameters that the layer exposes, such as the number of groups that it chose for its channels.
    """

    name: str
    norm: str
    placement: str
    operation: str
    parameters: dict[str, Value] = field(default_factory=dict)


def norm_layers(model: nn.Module, norm: NormSpec) -> list[NormLayer]:
    """The layers created by each part of the norm spec, part by part, in model order."""
    return [*weight_norm_layers(model, norm), *data_norm_layers(model, norm)]


def weight_norm_layers(model: nn.Module, norm: NormSpec) -> Iterator[NormLayer]:
    for part in norm.weight_norms:
        for name, module in model.named_modules():
            if isinstance(module, Operation) and parametrize.is_parametrized(module, "weight"):
                yield NormLayer(name, str(part), "weight", name)


def data_norm_layers(model: nn.Module, norm: NormSpec) -> Iterator[NormLayer]:
    if norm.data_norm is None or not norm.normalizes_data:
        return
    layer_type = norm.data_norm.entry.load()
    modules = list(model.named_modules())
    for index, (name, module) in enumerate(modules):
        if type(module) is layer_type:
            operation = neighboring_operation(modules, index, before=norm.placement == "before")
            stated = stated_parameters(module, NORMS.parameters(norm.data_norm.entry))
            yield NormLayer(name, str(norm.data_norm), norm.placement, operation, stated)


def neighboring_operation(modules: list[tuple[str, nn.Module]], index: int, *, before: bool) -> str:
    """The operation next to a norm: the first one after it if the norm is placed before, otherwise the last one before
    it."""
    candidates = modules[index + 1 :] if before else reversed(modules[:index])
    return next((name for name, module in candidates if isinstance(module, Operation)), "")


def compact(layers: Iterable[NormLayer]) -> list[dict[str, Any]]:
    """The layers as they are recorded: equal ones share an entry, which lists their names."""
    alike: dict[tuple[Any, ...], dict[str, Any]] = {}
    for layer in layers:
        key = (layer.norm, layer.placement, *layer.parameters.items())
        first = {"norm": layer.norm, "placement": layer.placement, "parameters": layer.parameters, "layers": []}
        alike.setdefault(key, first)["layers"].append(layer.name)
    return list(alike.values())


def stated_parameters(module: nn.Module, names: Iterable[str]) -> dict[str, Value]:
    """The values of a layer's attributes that are named like its parameters: `eps`, or `num_groups` for `groups`."""
    stated: dict[str, Value] = {}
    for name in names:
        value = getattr(module, name, getattr(module, f"num_{name}", None))
        if isinstance(value, Value):
            stated[name] = value
    return stated
