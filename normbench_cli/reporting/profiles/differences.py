"""What differs between two profiles besides the times: settings, machine, threads, versions, code."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from normbench_cli.nested import flattened
from normbench_cli.registry.spec import format_value
from normbench_cli.reporting.profiles.recorded import Profile

NOT_SETTINGS = ("norm", "seed", "tag", "note", "db")
OF_LAYERS = ("device", "amp")
NOT_COMPARED = ("git_dirty",)


def differences(now: Profile, then: Profile, places: Collection[str]) -> list[dict[str, str]]:
    """name, then, now as text: the settings, then the facts of machine and code.

    places: those compared; if the model is not among them, the settings of a training do not apply.
    """
    settings = differing(now.settings, then.settings, NOT_SETTINGS)
    if now.settings.get("model") not in {place.partition("+")[0] for place in places}:
        settings = (one for one in settings if one["name"] in OF_LAYERS)
    return [*settings, *differing(dict(flattened(now.environment)), dict(flattened(then.environment)), NOT_COMPARED)]


def differing(now: Mapping[str, Any], then: Mapping[str, Any], without: tuple[str, ...]) -> Iterator[dict[str, str]]:
    for name in dict.fromkeys([*then, *now]):
        was, is_now = (shown(side, name) for side in (then, now))
        if name not in without and was != is_now:
            yield {"name": name, "then": was, "now": is_now}


def shown(side: Mapping[str, Any], name: str) -> str:
    return format_value(side[name]) if name in side else "-"
