"""normbench list: what components there are, read from their files without importing them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from normbench_cli.cli import _options
from normbench_cli.errors import EXIT_OK, UsageError
from normbench_cli.registry import (
    ACTIVATIONS,
    ATTACKS,
    CORRUPTIONS,
    DATASETS,
    MODELS,
    NORMS,
    OBJECTIVES,
    SCHEDULES,
    Registry,
)
from normbench_cli.registry.spec import suggest

KINDS: dict[str, Registry[Any]] = {
    "norms": NORMS,
    "models": MODELS,
    "activations": ACTIVATIONS,
    "data": DATASETS,
    "objectives": OBJECTIVES,
    "attacks": ATTACKS,
    "corruptions": CORRUPTIONS,
    "schedules": SCHEDULES,
}


def kinds() -> list[str]:
    """The kinds that have something to list."""
    return [kind for kind, registry in KINDS.items() if registry.entries]


def show(
    kind: Annotated[str, typer.Argument(help=", ".join(KINDS) + ".", autocompletion=kinds)],
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Each one's whole documentation.")] = False,
    json: _options.Json = False,
    debug: _options.Debug = False,
    quiet: _options.Quiet = False,
) -> int:
    """List the components of a kind, each with its one line and its paper."""
    from inspect import Parameter

    from normbench_cli.cli._output import print_json, print_table

    if kind not in kinds():
        raise UsageError(f"there is nothing to list called '{kind}'", suggest(kind, kinds()))
    registry = KINDS[kind]
    rows = []
    for entry in registry.entries.values():
        row = {"name": entry.name, "aliases": ", ".join(entry.aliases), "what": entry.summary, "paper": entry.paper}
        if verbose or json:
            row["parameters"] = ", ".join(
                name if default is Parameter.empty else f"{name}={default}"
                for name, (_, default) in registry.parameters(entry).items()
            )
        rows.append(row)
    if json:
        print_json({kind: rows})
        return EXIT_OK
    if verbose:
        import inspect

        for entry, row in zip(registry.entries.values(), rows, strict=True):
            print(
                f"{entry.name}" + (f" ({row['aliases']})" if row["aliases"] else "") + f": {entry.paper}".rstrip(": ")
            )
            print("  " + (inspect.getdoc(entry.load()) or entry.summary).replace("\n", "\n  ").rstrip())
            print(f"  parameters: {row['parameters'] or 'none'}\n")
        return EXIT_OK
    print_table(rows)
    return EXIT_OK
