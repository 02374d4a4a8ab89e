"""A user's own recipe: a TOML file like those in normbench_cli/recipes, named by its path.

summary, paper          text
[settings]              for every run
[[exceptions]]          norm, act or both, and further settings for these
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from normbench_cli.axes.values import read_setting, read_specs, setting_name
from normbench_cli.config import DEFAULTS, REGISTRIES, lengths_replaced
from normbench_cli.errors import UsageError
from normbench_cli.paths import expanded
from normbench_cli.recipes import CONDITIONS, Recipe, is_file
from normbench_cli.registry.spec import suggest
from normbench_cli.registry.trust import Trust, recorded_in
from normbench_cli.toml_file import Key, TomlFile, read_toml

KEYS = ("summary", "paper", "settings", "exceptions")


def with_recipe_file(values: Mapping[str, Any], allow: str | Iterable[str] = ()) -> dict[str, Any]:
    """A cell's settings on top of those of the recipe file that it names, with a value for every field, so that the
    file is not needed again.  Cells without a recipe file are returned as they are."""
    path = values.get("recipe") or ""
    if not is_file(path):
        return dict(values)
    recipe = read_recipe(expanded(path), allow)
    base = recipe.settings_for(values, DEFAULTS)
    return DEFAULTS | lengths_replaced(base, values) | dict(values)


def read_recipe(path: Path, allow: str | Iterable[str] = ()) -> Recipe:
    """Read and check a recipe file.  allow: packages outside normbench that its specs may load."""
    file = read_toml(path, "a recipe")
    for key, value in file.content.items():
        with file.naming(key):
            if key not in KEYS:
                raise UsageError(f"there is no '{key}' in a recipe", suggest(key, list(KEYS)))
            check_kind(key, value)
    trust = recorded_in(str(path), allow)
    exceptions = file.content.get("exceptions", [])
    for number, exception in enumerate(exceptions):
        if not exception.keys() & CONDITIONS:
            what = f"{file.where('exceptions', number)}: the exception names neither norm nor act"
            raise UsageError(what, 'write norm = "..." or act = "..."')
    return Recipe(
        name=str(path),
        summary=file.content.get("summary", ""),
        paper=file.content.get("paper", ""),
        settings=read_settings(file, ("settings",), file.content.get("settings", {}), trust),
        exceptions=[read_settings(file, ("exceptions", n), one, trust) for n, one in enumerate(exceptions)],
    )


def check_kind(key: str, value: Any) -> None:
    tables = isinstance(value, list) and all(isinstance(one, dict) for one in value)
    if not (tables if key == "exceptions" else isinstance(value, dict if key == "settings" else str)):
        how = {"settings": "[settings]", "exceptions": "[[exceptions]]"}.get(key, f'{key} = "..."')
        raise UsageError(f"{key} is {value!r}", f"write {how}")


def read_settings(file: TomlFile, place: tuple[Key, ...], given: Mapping[str, Any], trust: Trust) -> dict[str, Any]:
    """The settings of a table, one value each."""
    found: dict[str, Any] = {}
    for key, value in given.items():
        with file.naming(*place, key):
            name = setting_name(key)
            if name == "recipe":
                raise UsageError("a recipe cannot name another one", "drop the line")
            if isinstance(value, list):
                raise UsageError(f"{key} has several values", "give one; several belong into an experiment file")
            values = read_specs(name, value, trust) if name in REGISTRIES else [read_setting(name, value)]
            if len(values) > 1:
                raise UsageError(f"{key} is a range", "give one value; a range belongs into an experiment file")
            found[name] = values[0]
    return found
