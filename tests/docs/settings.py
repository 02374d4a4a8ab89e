"""The table of settings without an option of their own, made from the configuration; `.ci/docs` writes it."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin

from normbench_cli.cli.train import OTHER_FIELDS
from normbench_cli.config import DEFAULTS, FIELDS, TYPES
from normbench_cli.registry.spec import format_value

KINDS = {int: "integer", float: "number", bool: "true, false", str: "text"}


def settings_table() -> str:
    """A Markdown table: name, values, default, and the sentence of the setting."""
    rows = [
        f"| `{name}` | {values_of(TYPES[name])} | {default_of(name)} | {sentence_of(name)} |" for name in OTHER_FIELDS
    ]
    return "\n".join(["| setting | values | default | meaning |", "|---|---|---|---|", *rows])


def values_of(kind: Any) -> str:
    """`all`, `weights`; or integer."""
    if get_origin(kind) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(kind))
    return KINDS[next((one for one in get_args(kind) if one in KINDS), kind)]


def default_of(name: str) -> str:
    return "-" if DEFAULTS[name] is None else f"`{format_value(DEFAULTS[name])}`"


def sentence_of(name: str) -> str:
    return str(FIELDS[name].metadata["help"]).replace("|", r"\|")
