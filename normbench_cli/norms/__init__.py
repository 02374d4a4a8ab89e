"""Normalization layers, one per file, and `convert`, which puts them into any model.

Every layer class can be imported from here by its name, ``from normbench_cli.norms import AugNorm``: the registry finds
it and loads torch on first access.  Weight norms are functions: ``NORMS.build("weightnorm", op=conv)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from normbench_cli.registry import NORMS

if TYPE_CHECKING:  # for type checkers; at run time `__getattr__` finds these and every other registered class
    from normbench_cli.norms._convert.convert import convert as convert
    from normbench_cli.norms.auggraphnorm import AugGraphNorm as AugGraphNorm
    from normbench_cli.norms.augnorm import AugNorm as AugNorm
    from normbench_cli.norms.batchnorm import BatchNorm as BatchNorm
    from normbench_cli.norms.diffphi import DiffPhi as DiffPhi
    from normbench_cli.norms.graphnorm import GraphNorm as GraphNorm
    from normbench_cli.norms.groupnorm import GroupNorm as GroupNorm
    from normbench_cli.norms.instancenorm import InstanceNorm as InstanceNorm
    from normbench_cli.norms.layernorm import LayerNorm as LayerNorm
    from normbench_cli.norms.mediannorm import MedianNorm as MedianNorm
    from normbench_cli.norms.none import NoNorm as NoNorm
    from normbench_cli.norms.popnorm import POPNorm as POPNorm

_CLASSES = {
    entry.attribute: entry
    for entry in NORMS.entries.values()
    if entry.module.startswith(f"{__name__}.") and entry.facts.placement != "weight"
}
__all__ = ["NORMS", "convert", *_CLASSES]


def __getattr__(name: str) -> Any:
    if name == "convert":
        from normbench_cli.norms._convert.convert import convert as found
    elif name in _CLASSES:
        found = _CLASSES[name].load()
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
