"""Recipes: the settings of the papers' protocols by name, one TOML file each; every value can be overridden."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from normbench_cli.errors import UsageError
from normbench_cli.registry import NORMS, Spec
from normbench_cli.registry.facts import NormFacts
from normbench_cli.registry.spec import suggest

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Recipe:
    """Settings of a configuration.

    exceptions: further settings for certain norms, each selected by the key `norm`.
    """

    name: str
    summary: str
    paper: str
    settings: Mapping[str, Any]
    exceptions: Sequence[Mapping[str, Any]] = ()

    def settings_for(self, norm: str) -> dict[str, Any]:
        """The settings for a norm.  An exception applies if the norm has all parameters that the exception names,
        whatever its other parameters; never to a joined spec."""
        found = dict(self.settings)
        parts = NORMS.parse_norm(norm).parts
        for exception in self.exceptions:
            wanted = NORMS.parse(exception["norm"])
            if len(parts) == 1 and applies_to(wanted, parts[0]):
                found |= {name: value for name, value in exception.items() if name != "norm"}
        return found


def applies_to(wanted: Spec[NormFacts], spec: Spec[NormFacts]) -> bool:
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
