"""Specs shown side by side: a parameter in which they differ is written out, even at its default.

Recorded specs leave defaults out, so `augnorm` beside `augnorm:phi=1.2` would hide the difference; it is shown as
`augnorm:phi=1.5`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from normbench_cli.config import REGISTRIES
from normbench_cli.errors import UsageError
from normbench_cli.registry import ATTACKS, NORMS, Registry
from normbench_cli.registry.norm_spec import PLACEMENT_OPTIONS
from normbench_cli.registry.parameters import REQUIRED
from normbench_cli.registry.spec import format_value, join_spec, split_joined, split_spec
from normbench_cli.store.metric_names import MetricName, parse_metric

Parts = list[tuple[str, dict[str, str]]]  # name and parameters of each joined component


def setting_names(field: str, values: Iterable[Any]) -> dict[Any, str]:
    """A setting's values as shown side by side in a table."""
    texts = {value: format_value(value) for value in values}
    if field in REGISTRIES:
        specs = spec_names(set(texts.values()), REGISTRIES[field])
        return {value: specs[text] for value, text in texts.items()}
    return texts


def metric_names(names: Iterable[str]) -> dict[str, str]:
    """Metrics as shown in a table: `test/accuracy@bim:eps=0.03` beside `test/accuracy@bim:eps=0.01`."""
    parsed = {name: parse_metric(name) for name in names}
    shown = spec_names({metric.condition for metric in parsed.values() if metric.condition}, ATTACKS)
    return {
        name: str(MetricName(metric.split, metric.name, shown.get(metric.condition, "")))
        for name, metric in parsed.items()
    }


def spec_names(specs: Iterable[str], registry: Registry[Any]) -> dict[str, str]:
    parsed = {text: parts for text in specs if (parts := read_parts(text))}
    siblings: dict[tuple[str, ...], list[Parts]] = {}
    for parts in parsed.values():
        siblings.setdefault(tuple(name for name, _ in parts), []).append(parts)
    return {text: written(text, parsed, siblings, registry) for text in specs}


def read_parts(text: str) -> Parts:
    """The parts of a spec; none if it is not one."""
    try:
        return [split_spec(part) for part in split_joined(text)]
    except UsageError:
        return []


def written(
    text: str, parsed: dict[str, Parts], siblings: dict[tuple[str, ...], list[Parts]], registry: Registry[Any]
) -> str:
    """A spec with the parameters that any of its siblings sets."""
    parts = parsed.get(text, [])
    others = siblings.get(tuple(name for name, _ in parts), [])
    if len(others) < 2:
        return text
    found = []
    for index, (name, params) in enumerate(parts):
        keys = {key for other in others for key in other[index][1]}
        defaults = {key: default_of(name, key, registry) for key in sorted(keys - set(params))}
        known = {key: value for key, value in defaults.items() if value is not None}
        found.append(join_spec(name, dict(sorted((params | known).items()))))
    return "+".join(found)


def default_of(name: str, key: str, registry: Registry[Any]) -> str | None:
    """A parameter's default as text; None if it has none, or if the default is None."""
    entry = registry.entries.get(name)
    if entry is None:
        return None
    if registry is NORMS and key in PLACEMENT_OPTIONS:
        return format_value(PLACEMENTS[key](name))
    default = entry.defaults.get(key, REQUIRED)
    return None if default is REQUIRED or default is None else format_value(default)


PLACEMENTS: dict[str, Callable[[str], Any]] = {
    "placement": lambda name: NORMS.parse_norm(name).placement,
    "first": lambda name: NORMS.parse_norm(name).first,
    "classifier": lambda name: NORMS.parse_norm(name).classifier,
}
