"""Recipes: the settings of the papers' protocols by name, one TOML file each; every value can be overridden."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from normbench_cli.errors import UsageError
from normbench_cli.registry import ACTIVATIONS, NORMS, Spec
from normbench_cli.registry.spec import suggest

FOLDER = Path(__file__).parent
CONDITIONS = ("norm", "act")  # of an exception: what it is for


@dataclass(frozen=True)
class Recipe:
    """Settings of a configuration.

    exceptions: further settings for a norm, an activation, or both together: the keys `norm` and `act` of each.
    """

    name: str
    summary: str
    paper: str
    settings: Mapping[str, Any]
    exceptions: Sequence[Mapping[str, Any]] = ()

    def settings_for(self, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
        """The settings for the norm and the activation that are given, or else the recipe's, or else the default ones.
        Later exceptions override earlier ones."""
        norm, act = (given.get(name) or self.settings.get(name) or defaults[name] for name in CONDITIONS)
        found = dict(self.settings)
        for exception in self.exceptions:
            if names_norm(exception.get("norm"), norm) and names_act(exception.get("act"), act):
                found |= {name: value for name, value in exception.items() if name not in CONDITIONS}
        return found


def names_norm(wanted: str | None, norm: str) -> bool:
    """Whether an exception is for this norm: for any if it names none, never for a joined spec."""
    parts = NORMS.parse_norm(norm).parts
    return wanted is None or (len(parts) == 1 and applies_to(NORMS.parse(wanted), parts[0]))


def names_act(wanted: str | None, act: str) -> bool:
    """Whether an exception is for this activation: for any if it names none."""
    return wanted is None or applies_to(ACTIVATIONS.parse(wanted), ACTIVATIONS.parse(act))


def applies_to(wanted: Spec[Any], spec: Spec[Any]) -> bool:
    """Whether the component is the same and has all the parameters that the exception names, whatever others it has."""
    return wanted.entry.name == spec.entry.name and wanted.params.items() <= spec.params.items()


def is_file(name: str) -> bool:
    """Whether a recipe's name is the path of a user's file."""
    return name.endswith(".toml")


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def find(name: str) -> Recipe:
    if name not in names():
        raise UsageError(f"there is no recipe '{name}'", suggest(name, names()) + ", or give the path of a .toml")
    with (FOLDER / f"{name}.toml").open("rb") as file:
        content = tomllib.load(file)
    return Recipe(
        name=name,
        summary=content["summary"],
        paper=content.get("paper", ""),
        settings=content["settings"],
        exceptions=content.get("exceptions", ()),
    )
