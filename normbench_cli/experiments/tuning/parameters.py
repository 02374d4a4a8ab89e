"""Searched parameters of components, such as ``augnorm:phi``: which contenders have them, and setting them.

A parameter is looked up in the contenders' components, whose specs are already trusted: nothing is imported here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from normbench_cli.axes.values import number_type
from normbench_cli.config import REGISTRIES, RunConfig
from normbench_cli.errors import UsageError
from normbench_cli.registry import NORMS
from normbench_cli.registry.parameters import Parameter
from normbench_cli.registry.parsed_spec import Spec
from normbench_cli.registry.spec import join_spec, suggest


@dataclass(frozen=True)
class Component:
    """A component of a contender, and its numeric parameters."""

    setting: str
    spec: Spec[Any]
    numbers: dict[str, Parameter]

    @property
    def name(self) -> str:
        return self.spec.entry.name


def is_parameter(name: str) -> bool:
    """Whether this names a parameter of a component, not a setting."""
    return ":" in name


def specs_in(setting: str, text: str) -> tuple[Spec[Any], ...]:
    """The components that a setting names; a norm may combine several."""
    registry = REGISTRIES[setting]
    return NORMS.parse_norm(text).parts if registry is NORMS else (registry.parse(text),)


def components(configs: Iterable[RunConfig]) -> Iterator[Component]:
    for config in configs:
        for setting, registry in REGISTRIES.items():
            for spec in specs_in(setting, getattr(config, setting)):
                takes = registry.parameters(spec.entry)
                numbers = {name: found for name, found in takes.items() if number_type(found.type)}
                yield Component(setting, spec, numbers)


def find_parameter(name: str, contenders: Sequence[RunConfig]) -> tuple[str, Parameter]:
    """``bn:eps`` -> ``batchnorm:eps`` and the parameter; an error that suggests a name if no contender has it."""
    wanted, _, parameter = name.rpartition(":")
    there = list(components(contenders))
    of_name = [one for one in there if wanted.lower() in (one.name.lower(), *one.spec.entry.aliases)]
    if not of_name:
        names = dict.fromkeys(one.name for one in there if one.numbers)
        raise UsageError(f"--over {name}: no contender has {wanted or 'this'}", suggest(wanted, list(names)))
    found = of_name[0]
    if parameter not in found.numbers:
        raise UsageError(
            f"--over {name}: {found.name} has no number '{parameter}'", suggest(parameter, list(found.numbers))
        )
    return f"{found.name}:{parameter}", found.numbers[parameter]


def whose_parameter(name: str, contenders: Sequence[RunConfig]) -> list[str]:
    """The full names of the contenders' parameters with this name: ``phi`` -> ``augnorm:phi``."""
    parameter = name.rpartition(".")[2]
    return list(dict.fromkeys(f"{one.name}:{parameter}" for one in components(contenders) if parameter in one.numbers))


def has_parameter(config: RunConfig, name: str) -> bool:
    component = name.rpartition(":")[0]
    return any(one.name == component for one in components([config]))


def with_parameter(config: RunConfig, name: str, value: float) -> RunConfig:
    """The configuration with a parameter of one of its components set to this value."""
    component, _, parameter = name.rpartition(":")
    setting = next(one.setting for one in components([config]) if one.name == component)
    specs = [
        join_spec(part.entry.name, {**part.params, **({parameter: value} if part.entry.name == component else {})})
        for part in specs_in(setting, getattr(config, setting))
    ]
    changed: dict[str, Any] = {setting: "+".join(specs)}
    return replace(config, **changed)
