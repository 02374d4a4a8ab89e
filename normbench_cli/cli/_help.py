"""What a command's ``--help`` shows beside its options: examples, and the effective defaults.

The defaults are looked up when help is printed, so that other commands need not wait for the recipes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from typer.core import TyperCommand, TyperGroup, TyperOption

from normbench_cli import recipes
from normbench_cli.config import RunConfig, make_config
from normbench_cli.registry.spec import format_value

OUTPUT_PANEL = "Database and output"  # of the options that every command takes
EXAMPLES = "\n\nExamples:\n"
FROM_CONFIG = "the configuration's default"  # as `show_default`: looked up when help is printed


class CommandHelp:
    """The help of a command whose docstring ends in ``Examples:``; they are printed below its options, which show their
    defaults."""

    help: str | None
    params: list[Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        text, _, examples = (self.help or "").partition(EXAMPLES)
        # typer keeps the line breaks of the source, which are made for wider terminals than most
        self.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
        self.epilog = f"Examples:\n{examples}" if examples else None

    def get_help_option(self, ctx: Any) -> TyperOption | None:
        option: TyperOption | None = super().get_help_option(ctx)  # type: ignore[misc]
        if option:
            option.rich_help_panel = OUTPUT_PANEL
        return option

    def format_help(self, ctx: Any, formatter: Any) -> None:
        explain_defaults(self.params)
        super().format_help(ctx, formatter)  # type: ignore[misc]


class Command(CommandHelp, TyperCommand):
    """A command."""


class Group(CommandHelp, TyperGroup):
    """A command that also has sub-commands."""


def explain_defaults(params: Iterable[object]) -> None:
    """Move defaults that are texts into the options' help; typer would show them in parentheses."""
    for option in params:
        if isinstance(option, TyperOption) and isinstance(option.show_default, str):
            option.help = f"{option.help}{shown_default(option)}"
            option.show_default = False


def shown_default(option: TyperOption) -> str:
    text = option.show_default
    if text == FROM_CONFIG:
        text = config_default(str(option.name))
    return rf" [dim]\[default: {text}][/dim]" if text else ""


def config_default(name: str) -> str:
    """The default of a configuration field, and the recipe that may have set it."""
    config = make_config({})
    value = getattr(config, name)
    if value is None or value == "":
        return ""
    return format_value(value) + (f" (recipe {config.recipe})" if is_set_by_recipes(name, config) else "")


def is_set_by_recipes(name: str, config: RunConfig) -> bool:
    """Whether the default depends on the data set, whose recipe sets it; a recipe does not choose the data set."""
    settings = [recipes.find(recipe).settings for recipe in recipes.names()]
    return name != "data" and any(name in one for one in settings) and bool(config.recipe)
