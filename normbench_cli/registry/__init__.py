"""Registries of components by name: norms, activations, models, data, objectives, attacks, corruptions, schedules.

A component is a class or function decorated with ``@NORMS.register("name", paper=..., fact=...)`` in a file of the
registry's package.  The files are parsed, not imported, until a component is built: listing components and checking
a spec need no torch, and new files are found automatically.  That is why the decorator's arguments are literals.

A component can also be external: named as ``package.module:attribute``, or provided by an installed package as an
entry point of the group ``normbench.norms``, ``normbench.activations``, ``.models``, ``.datasets``, ``.objectives``,
``.attacks``, ``.corruptions`` or ``.schedules``.

Specs are written ``name:key=value,key=value``; the values are checked against the component's own signature.
"""

from __future__ import annotations

from typing import Any

from normbench_cli.registry.contract import MODULE, Contract
from normbench_cli.registry.entry import Entry
from normbench_cli.registry.facts import (
    ActivationFacts,
    AttackFacts,
    CorruptionFacts,
    DataFacts,
    ModelFacts,
    NormFacts,
    ObjectiveFacts,
    ScheduleFacts,
)
from normbench_cli.registry.norm_spec import NormRegistry, NormSpec
from normbench_cli.registry.parsed_spec import Spec
from normbench_cli.registry.registry import Registry

__all__ = [
    "ACTIVATIONS",
    "ATTACKS",
    "CORRUPTIONS",
    "DATASETS",
    "MODELS",
    "NORMS",
    "OBJECTIVES",
    "REGISTRIES",
    "SCHEDULES",
    "Entry",
    "NormSpec",
    "Registry",
    "Spec",
]

NORMS = NormRegistry(
    "norm", "normbench_cli.norms", NormFacts, Contract(MODULE, function_of=("op",)), supplied=("num_features", "op")
)
ACTIVATIONS = Registry(
    "activation", "normbench_cli.activations", ActivationFacts, Contract(MODULE), offered=("inplace",)
)
MODEL_PARAMETERS = ("norm", "act", "num_classes", "in_channels")
MODELS = Registry(
    "model",
    "normbench_cli.models",
    ModelFacts,
    Contract(MODULE, function_of=MODEL_PARAMETERS),
    supplied=MODEL_PARAMETERS,
)
DATASETS = Registry("data set", "normbench_cli.datasets", DataFacts, Contract(function_of=()))
OBJECTIVES = Registry("objective", "normbench_cli.objectives", ObjectiveFacts, Contract(MODULE))
ATTACKS = Registry(
    "attack",
    "normbench_cli.attacks",
    AttackFacts,
    Contract(MODULE, function_of=("model", "x", "y"), bound=True),
    supplied=("model", "x", "y"),
    offered=("mean", "std"),
)
CORRUPTIONS = Registry(
    "corruption",
    "normbench_cli.corruptions",
    CorruptionFacts,
    Contract("normbench_cli.corruptions.base.Corruption"),
)
SCHEDULES = Registry(
    "schedule",
    "normbench_cli.schedules",
    ScheduleFacts,
    Contract(function_of=("progress",), bound=True),
    supplied=("progress",),
)
REGISTRIES: dict[str, Registry[Any]] = {  # by their names in `normbench list`
    "norms": NORMS,
    "models": MODELS,
    "activations": ACTIVATIONS,
    "data": DATASETS,
    "objectives": OBJECTIVES,
    "attacks": ATTACKS,
    "corruptions": CORRUPTIONS,
    "schedules": SCHEDULES,
}
