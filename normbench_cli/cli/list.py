"""normbench list: the components of a kind, read from their source files without importing them; suites and recipes."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from normbench_cli import paths, recipes, suites
from normbench_cli.cli._options import Common, common_options
from normbench_cli.cli._output import echo, hint, print_json, print_table
from normbench_cli.errors import EXIT_OK, UsageError
from normbench_cli.registry import DATASETS, REGISTRIES, Registry
from normbench_cli.registry.entry import Entry
from normbench_cli.registry.spec import format_value, suggest
from normbench_cli.registry.trust import allowed_packages

SUITES, RECIPES = "suites", "recipes"
ALLOWED = "allowed"  # packages that recorded runs may load
NO_COMPONENTS = (SUITES, RECIPES, ALLOWED)


def kinds() -> list[str]:
    """The kinds that have components, suites, recipes, and the allowed packages."""
    return [*(kind for kind, registry in REGISTRIES.items() if registry.entries), *NO_COMPONENTS]


@common_options
def list_components(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help=", ".join([*REGISTRIES, *NO_COMPONENTS]) + ".", autocompletion=kinds)
    ],
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print the full documentation of each component.")
    ] = False,
    *,
    common: Common,
) -> int:
    """List components of a kind with summary and paper; also suites, recipes, and packages trusted by --allow.

    Examples:
      normbench list norms
      normbench list data --verbose
    """
    if kind not in kinds():
        raise UsageError(f"there is no kind of component '{kind}'", suggest(kind, kinds()))
    if kind == ALLOWED:
        return list_allowed(common)
    if kind == SUITES:
        return list_suites(common, verbose=verbose)
    if kind == RECIPES:
        return list_recipes(common, verbose=verbose)
    registry = REGISTRIES[kind]
    entries = registry.entries.values()
    if common.json:
        print_json({kind: [row_of(entry) | declared_parameters(registry, entry) for entry in entries]})
    elif verbose:
        for entry in entries:
            echo(documentation(registry, entry))
    else:
        print_table([row_of(entry) for entry in entries])
    return EXIT_OK


def list_allowed(common: Common) -> int:
    """List the packages that recorded runs may load."""
    packages, file = allowed_packages(), paths.allowed_file()
    if common.json:
        print_json({ALLOWED: [{"name": package} for package in packages], "file": file})
    elif packages:
        print_table([{"package": package} for package in packages])
        hint(f"to withdraw one, remove its line from {file}", common.quiet)
    else:
        hint("recorded runs may load no package; `normbench eval RUN --allow PACKAGE` allows one", common.quiet)
    return EXIT_OK


def list_suites(common: Common, *, verbose: bool) -> int:
    """The tables and figures that `reproduce` runs."""
    found = [suites.find(name) for name in suites.names()]
    rows = [
        {
            "name": suite.name,
            "what": suite.title,
            "paper": f"{suite.paper}, {suite.place}",
            "cells": str(len(suite.cells)),
            "published": str(sum(cell.published is not None for cell in suite.cells)),
        }
        for suite in found
    ]
    if common.json:
        print_json({SUITES: rows})
    elif verbose:
        for suite, row in zip(found, rows, strict=True):
            echo("\n".join([f"{suite.name}: {row['paper']}", f"  {suite.title}", *(f"  {n}" for n in suite.notes), ""]))
    else:
        print_table(rows)
    return EXIT_OK


def list_recipes(common: Common, *, verbose: bool) -> int:
    """The named settings that `--recipe` takes, and the data sets whose default they are."""
    found = [recipes.find(name) for name in recipes.names()]
    if common.json:
        print_json({RECIPES: [recipe_facts(one) | recipe_tables(one) for one in found]})
    elif verbose:
        for recipe in found:
            echo(recipe_page(recipe))
    else:
        print_table([recipe_facts(recipe) for recipe in found])
    return EXIT_OK


def recipe_facts(recipe: recipes.Recipe) -> dict[str, str]:
    data = [name for name, entry in DATASETS.entries.items() if entry.facts.recipe == recipe.name]
    return {"name": recipe.name, "what": recipe.summary, "data": ", ".join(data), "paper": recipe.paper}


def recipe_tables(recipe: recipes.Recipe) -> dict[str, Any]:
    return {"settings": recipe.settings, "exceptions": recipe.exceptions}


def recipe_page(recipe: recipes.Recipe) -> str:
    """A recipe's settings, and those that replace them for certain norms and activations."""
    facts = recipe_facts(recipe)
    lines = [f"{recipe.name}: {recipe.paper}".rstrip(": "), recipe.summary]
    lines += [f"default of {facts['data']}"] if facts["data"] else []
    lines.append(f"settings: {words_of(recipe.settings)}")
    for exception in recipe.exceptions:
        specs = " and ".join(exception[name] for name in recipes.CONDITIONS if name in exception)
        others = {name: value for name, value in exception.items() if name not in recipes.CONDITIONS}
        lines.append(f"with {specs}: {words_of(others)}")
    return "\n  ".join(lines) + "\n"


def words_of(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={format_value(value)}" for name, value in settings.items())


def row_of(entry: Entry[Any]) -> dict[str, str]:
    return {"name": entry.name, "aliases": ", ".join(entry.aliases), "what": entry.summary, "paper": entry.paper}


def parameters(registry: Registry[Any], entry: Entry[Any]) -> str:
    """The parameters that a spec of the component may set, with defaults."""
    return ", ".join(
        name if parameter.default is inspect.Parameter.empty else f"{name}={parameter.default}"
        for name, parameter in registry.parameters(entry).items()
    )


def declared_parameters(registry: Registry[Any], entry: Entry[Any]) -> dict[str, Any]:
    """The parameters as text, and the limits of those that have any."""
    found = registry.parameters(entry)
    bounds = {name: parameter.bounds.limits for name, parameter in found.items() if parameter.bounds.limits}
    return {"parameters": parameters(registry, entry), "bounds": bounds}


def limits(registry: Registry[Any], entry: Entry[Any]) -> str:
    """What each parameter accepts, in words."""
    found = registry.parameters(entry)
    return ", ".join(f"{name} {parameter.bounds}" for name, parameter in found.items() if parameter.bounds.limits)


def documentation(registry: Registry[Any], entry: Entry[Any]) -> str:
    """Name, aliases and paper in one line; below it the docstring and the parameters, indented."""
    aliases = f" ({', '.join(entry.aliases)})" if entry.aliases else ""
    title = f"{entry.name}{aliases}: {entry.paper}".rstrip(": ")
    text = inspect.getdoc(entry.load()) or entry.summary
    lines = [*text.splitlines(), f"parameters: {parameters(registry, entry) or 'none'}"]
    if accepted := limits(registry, entry):
        lines.append(f"bounds: {accepted}")
    return "\n".join([title, *(f"  {line}".rstrip() for line in lines), ""])
