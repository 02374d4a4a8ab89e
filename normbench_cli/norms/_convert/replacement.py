"""What a spec requires of `convert`, which modules count as norms, and the new layer that replaces an old one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.parameter import is_lazy
from torch.nn.utils.parametrize import is_parametrized

from normbench_cli.registry import NORMS
from normbench_cli.registry.facts import NormFacts


class Target:
    """What a spec requires of `convert`."""

    def __init__(self, text: str) -> None:
        self.spec = NORMS.parse_norm(text)
        self.layer_spec = str(self.spec.data_norm or "none")
        self.before = self.spec.placement == "before"
        self.leaves_place_empty = self.before or not self.spec.normalizes_data  # where a norm stood after its operation

    def layer(self, features: int, old_settings: Mapping[str, Any]) -> nn.Module:
        """Return a new layer with the old layer's settings that it accepts and the spec leaves open."""
        options: dict[str, Any] = {}
        if self.spec.data_norm:
            takes = NORMS.parameters(self.spec.data_norm.entry).keys() - self.spec.data_norm.written
            options = {key: value for key, value in old_settings.items() if key in takes}
        made: nn.Module = NORMS.build(self.layer_spec, num_features=features, **options)
        return made


def facts_of(module: nn.Module) -> NormFacts | None:
    """Return the facts of a norm; None for anything that is not torch's batch norm or in normbench's registry."""
    entry = vars(type(module)).get("normbench_entry")
    if entry is not None and entry.kind == NORMS.kind:
        facts: NormFacts = entry.facts
        return facts
    known = isinstance(module, _BatchNorm) and type(module).forward in (_BatchNorm.forward, nn.SyncBatchNorm.forward)
    return NormFacts() if known else None


def precedes_operation(module: nn.Module) -> bool:
    """Whether a norm is made to precede an operation."""
    facts = facts_of(module)
    return facts is not None and facts.placement == "before"


def is_norm_like(module: nn.Module, name: str) -> bool:
    """Whether a module is a norm, or is named like one and must be mentioned in the report."""
    if "parametrizations" in name.split("."):
        return False  # part of a norm of weights
    named_so = "norm" in type(module).__name__.lower() and not list(module.children())
    return facts_of(module) is not None or isinstance(module, _BatchNorm) or named_so


def reason_kept(module: nn.Module, name: str, target: Target) -> str | None:
    """Why a norm cannot be converted; None if it can."""
    facts = facts_of(module)
    if not name:
        return "the model itself cannot be swapped in place: put it into a Sequential"
    if isinstance(module, nn.LayerNorm):
        return f"it normalizes the last {len(module.normalized_shape)} dimension(s), not channels at the second"
    if facts is None and isinstance(module, nn.GroupNorm | nn.modules.instancenorm._InstanceNorm):
        return "it is no batch norm: it normalizes every sample for itself"
    if is_parametrized(module):
        return "its parameters are parametrized"
    if facts is None and isinstance(module, _BatchNorm):
        return f"{type(module).__name__} changes the forward of torch's batch norm"
    if facts is None:
        return f"{type(module).__name__} is neither torch's batch norm nor in normbench's registry"
    if any(is_lazy(parameter) for parameter in module.parameters()):
        return "it does not know its channels yet: run the model once"
    if not hasattr(module, "num_features"):
        return f"{type(module).__name__} has no num_features"
    if facts.graphs != target.spec.graphs:
        return "norms of graphs are called with the graph of each node, other norms without"
    return None


def make_replacement(old: nn.Module, target: Target, model: nn.Module) -> tuple[nn.Module, list[str]]:
    """Return the new layer for an old one, and notes on what is different.

    Parameters stay the same objects: existing optimizers and modules that share them still hold them.
    """
    settings = {key: getattr(old, key) for key in ("eps", "momentum") if isinstance(getattr(old, key, None), float)}
    if hasattr(old, "weight"):
        settings["affine"] = old.weight is not None
    new = target.layer(old.num_features, settings)  # type: ignore[arg-type]
    match_device_and_mode(new, old, model)
    for name, parameter in old.named_parameters(recurse=False):
        fresh = new._parameters.get(name)
        if fresh is not None and fresh.shape == parameter.shape:
            new._parameters[name] = parameter
    with torch.no_grad():
        for name, buffer in old.named_buffers(recurse=False):
            empty = new._buffers.get(name)
            if empty is not None and empty.shape == buffer.shape:
                empty.copy_(buffer)
    notes = match_running_statistics(new, old) if isinstance(old, _BatchNorm) else []
    if isinstance(old, nn.SyncBatchNorm):
        notes.append("its statistics are not shared between processes any more")
    if old._forward_hooks or old._forward_pre_hooks or old._backward_hooks:
        notes.append("its hooks are gone")
    return new, notes


def match_running_statistics(new: nn.Module, old: _BatchNorm) -> list[str]:
    """Torch's batch norm may have no running statistics, or average over all batches (momentum=None).  A new batch norm
    does the same; for any other layer, return notes that it does not."""
    has_none = old.running_mean is None and "running_mean" in new._buffers
    averages = old.momentum is None and hasattr(new, "momentum")
    if isinstance(new, _BatchNorm):
        if has_none:
            new.track_running_stats = False
            new.running_mean = new.running_var = new.num_batches_tracked = None
        if averages:
            new.momentum = None
        return []
    notes = ["it had no running statistics, the new layer has"] if has_none else []
    return notes + ([f"it averaged over all batches, the new layer has momentum {new.momentum}"] if averages else [])


def match_device_and_mode(new: nn.Module, old: nn.Module, model: nn.Module) -> None:
    """Give a new layer the device, dtype and mode of the one it replaces; those of the model if that has no tensors."""
    near = [*old.parameters(), *old.buffers(), *model.parameters()]
    like = next((tensor for tensor in near if tensor.is_floating_point()), torch.empty(0))
    new.to(device=like.device, dtype=like.dtype).train(old.training)
