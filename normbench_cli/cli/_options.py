"""Options shared by several commands, each declared once, and the decorators that add them to a command."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from normbench_cli.cli._help import FROM_CONFIG, OUTPUT_PANEL
from normbench_cli.config import FIELDS, REGISTRIES, TYPES
from normbench_cli.errors import InterruptedCommand

CommandFunction = Callable[..., int]
Settings = dict[str, Any]

RunIds = Annotated[list[str], typer.Argument(metavar="RUN", help="Run ids, or unique prefixes of them.")]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="Run id, or a unique prefix of one.")]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="EXPRESSION",
        help="Only runs that match: key=value, or an expression such as 'seed<3 and test/accuracy>0.9' (may be "
        "repeated).",
        rich_help_panel="Filters",
    ),
]
OtherData = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Use the data set even if it differs from the one the run was trained on; recorded as a remark.",
        rich_help_panel="Runs",
    ),
]
Tag = Annotated[str | None, typer.Option("--tag", help="Only runs with this tag.", rich_help_panel="Filters")]

Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow",
        metavar="PACKAGE",
        help="Trust this package: recorded runs and suites may load its components, now and later (see `list "
        "allowed`).",
        rich_help_panel="Runs",
    ),
]


VALUES_PANEL, FILES_PANEL = "What to compare", "Files"
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        metavar="NAME",
        help="A metric such as test/accuracy (may be repeated).",
        show_default="accuracy, loss, time and solver, where recorded",
        rich_help_panel=VALUES_PANEL,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT,...",
        help="Files to write: md, latex, html, csv, json, parquet. '' writes none.",
        show_default="md; none with --json",
        rich_help_panel=FILES_PANEL,
    ),
]
Out = Annotated[Path, typer.Option("--out", help="Output folder.", rich_help_panel=FILES_PANEL)]
REPORTS = Path("reports")  # in the working folder


@dataclass(frozen=True)
class Common:
    """The values of the options that every command takes, except ``--debug``, which `main` handles."""

    db: str | None
    json: bool
    quiet: bool


def common_options(command: CommandFunction) -> CommandFunction:
    """Give a command the options that every command takes; its argument ``common`` receives them."""
    database = typer.Option(
        "--db",
        help="Results database: a path or a SQLAlchemy URL.",
        show_default="NORMBENCH_DB, or the file in NORMBENCH_HOME",
        rich_help_panel=OUTPUT_PANEL,
    )
    json = typer.Option("--json", help="Print the result as one JSON document.", rich_help_panel=OUTPUT_PANEL)
    debug = typer.Option("--debug", help="Show the full traceback on errors.", rich_help_panel=OUTPUT_PANEL)
    quiet = typer.Option("--quiet", "-q", help="Hide progress and hints.", rich_help_panel=OUTPUT_PANEL)
    options = [
        option("db", str | None, database, None),
        option("json", bool, json, False),
        option("debug", bool, debug, False),
        option("quiet", bool, quiet, False),
    ]
    return expanded(
        with_interrupts(command), "common", options, lambda given: Common(given["db"], given["json"], given["quiet"])
    )


def with_interrupts(command: CommandFunction) -> CommandFunction:
    """Turn an interrupt into an error: typer would drop its message."""

    @functools.wraps(command)
    def call(**values: Any) -> int:
        try:
            return command(**values)
        except KeyboardInterrupt as interrupt:
            raise InterruptedCommand(str(interrupt) or "interrupted") from interrupt

    return call


def config_options(
    panels: Mapping[str, Sequence[str]], *, several: Sequence[str] = (), defaults: Mapping[str, str] | None = None
) -> Callable[[CommandFunction], CommandFunction]:
    """Give a command an option for each of these configuration fields, in the panels of its help.

    The command's argument ``settings`` receives the given ones by name: text, numbers and booleans, or a list of texts
    for the fields that take `several` values.  `defaults`: the command's defaults that differ from the configuration's.
    """
    options = [
        config_option(name, panel, several=name in several, default=(defaults or {}).get(name, FROM_CONFIG))
        for panel, names in panels.items()
        for name in names
    ]
    return lambda command: expanded(
        command, "settings", options, lambda given: {name: v for name, v in given.items() if v is not None}
    )


def cli_args(settings: Mapping[str, Any]) -> list[str]:
    """The command-line options that set these configuration fields."""
    words: list[str] = []
    for name, value in settings.items():
        flag = name.replace("_", "-")
        words += [f"--{flag}" if value else f"--no-{flag}"] if isinstance(value, bool) else [f"--{flag}", str(value)]
    return words


def config_option(name: str, panel: str, *, several: bool, default: str) -> inspect.Parameter:
    """The option of a configuration field, with the field's own help text."""
    flag = name.replace("_", "-")
    registry, number, switch = REGISTRIES.get(name), is_number(name), TYPES[name] in (bool, bool | None)
    several = several and not switch
    flags, metavar = [f"--{flag}"], ("SPEC,..." if registry else "NUMBER,..." if number else "NAME,...") * several
    sentence = str(FIELDS[name].metadata["help"])
    kind = TYPES[name] if number or switch else str
    if switch:
        flags = [f"--{flag}/--no-{flag}"]
    if name == "seed" and several:
        flags.append("--seeds")
        sentence, metavar = "random seeds: 3, 0-9 or 1,5,7", "SEEDS"
    declaration = typer.Option(
        *flags,
        help=sentence[0].upper() + sentence[1:] + ("" if sentence.endswith(".") else "."),
        show_default=default,
        metavar=metavar or None,
        rich_help_panel=panel,
        autocompletion=completion(registry.choices) if registry else None,
    )
    return option(name, (list[str] if several else kind) | None, declaration, None)


def is_number(name: str) -> bool:
    return TYPES[name] in (int, float, int | None, float | None)


def completion(choices: Callable[[], list[str]]) -> Callable[[str], list[str]]:
    return lambda incomplete: [name for name in choices() if name.startswith(incomplete)]


def option(name: str, kind: Any, declaration: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, declaration]
    )


def expanded(
    command: CommandFunction,
    argument: str,
    options: Sequence[inspect.Parameter],
    collect: Callable[[dict[str, Any]], object],
) -> CommandFunction:
    """Replace an argument of a command by options; the argument receives their values."""

    @functools.wraps(command)
    def call(**values: Any) -> int:
        given = {one.name: values.pop(one.name) for one in options}
        return command(**values, **{argument: collect(given)})

    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        own = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
        parameters += options if parameter.name == argument else own
    vars(call)["__signature__"] = inspect.Signature(parameters)
    return call
