"""The tables that README and docs show, made from the registries; `.ci/docs` writes them into the pages."""

from __future__ import annotations

from typing import Any

from normbench_cli.registry import Registry


def registry_table(registry: Registry[Any]) -> str:
    """A Markdown table: name and aliases, summary, paper."""
    rows = [
        f"| {' '.join([f'`{entry.name}`', *_aliases(entry.aliases)])} | {entry.summary} | {entry.paper} |"
        for entry in registry.entries.values()
    ]
    return "\n".join(["| name | what | source |", "|---|---|---|", *rows])


def _aliases(names: tuple[str, ...]) -> list[str]:
    return [f"({', '.join(names)})"] if names else []
