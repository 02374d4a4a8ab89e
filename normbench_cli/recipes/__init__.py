"""Recipes: named settings of the papers' protocols, one small TOML each; every value can be overridden."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from normbench_cli.errors import UsageError
from normbench_cli.registry import NORMS
from normbench_cli.registry.spec import suggest

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Recipe:
    """Settings of a configuration, and those that differ for certain norms."""

    name: str
    summary: str
    paper: str
    settings: Mapping[str, Any]
    exceptions: list[Mapping[str, Any]] = field(default_factory=list)

    def settings_for(self, norm: str) -> dict[str, Any]:
        """The settings with the exceptions for a norm: those whose norm is this one, whatever further parameters."""
        found = dict(self.settings)
        spec = NORMS.parse(norm) if "+" not in norm else None
        for exception in self.exceptions:
            wanted = NORMS.parse(exception["norm"])
            if spec and spec.entry.name == wanted.entry.name and wanted.params.items() <= spec.params.items():
                found |= {name: value for name, value in exception.items() if name != "norm"}
        return found


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def find(name: str) -> Recipe:
    if name not in names():
        raise UsageError(f"there is no recipe '{name}'", suggest(name, names()))
    with (FOLDER / f"{name}.toml").open("rb") as file:
        content = tomllib.load(file)
    return Recipe(
        name, content["summary"], content.get("paper", ""), content["settings"], content.get("exceptions", [])
    )
