"""The command line: one file per command, which parses, makes one call and prints."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from normbench_cli.cli import _tuning

__all__ = ["_tuning"]


def __getattr__(name: str) -> object:
    """Import on first use: it loads torch, Optuna and pandas."""
    if name == "_tuning":
        return import_module("normbench_cli.cli._tuning")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
