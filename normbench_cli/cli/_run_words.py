"""The settings that distinguish the runs of a grid, in tables, messages and progress."""

from __future__ import annotations

from collections.abc import Sequence

from normbench_cli.config import RunConfig
from normbench_cli.registry.spec import format_value

SETTINGS = ("norm", "act", "model", "data", "seed")  # that identify any run


def columns_for(axes: Sequence[str]) -> list[str]:
    """The settings that identify the runs of a grid in a table, the seed last."""
    return [*SETTINGS[:-1], *other_axes(axes), "seed"]


def other_axes(axes: Sequence[str]) -> list[str]:
    return [name for name in axes if name not in SETTINGS]


def axis_words(config: RunConfig, axes: Sequence[str]) -> list[str]:
    """The values of the axes that do not identify every run: ``lr 0.1``."""
    return [f"{name} {setting_text(config, name)}" for name in other_axes(axes)]


def run_words(config: RunConfig, axes: Sequence[str]) -> str:
    """A run in words: ``popnorm relu lr 0.1 seed 3``."""
    return " ".join([config.norm, config.act, *axis_words(config, axes), f"seed {config.seed}"])


def setting_text(config: RunConfig, name: str) -> str:
    return format_value(getattr(config, name))
