"""normbench nightly: the command for cron.  Sub-commands are in their own files (`nightly_*.py`)."""

from __future__ import annotations

from typing import Annotated

import typer

from normbench_cli import nightly
from normbench_cli.cli import _nightly_night, _options, nightly_bisect, nightly_decisions
from normbench_cli.cli._executors import executor_options
from normbench_cli.cli._help import Command, Group
from normbench_cli.cli._options import Common, Settings, cli_args, common_options, completion, config_options
from normbench_cli.durations import parse_duration
from normbench_cli.errors import EXIT_OK, UsageError
from normbench_cli.experiments.distributed.rank import check_executor
from normbench_cli.experiments.executors.choice import Choice
from normbench_cli.registry.trust import allow_packages

app = typer.Typer(cls=Group, invoke_without_command=True)
HOW_LONG, WHAT = "Duration", "What to measure"


@app.callback()
@config_options({"Device and speed": ("nproc", "sync_norm")})
@executor_options(jobs=False)
@common_options
def night(
    context: typer.Context,
    suite: Annotated[
        str,
        typer.Option(
            "--suite",
            metavar="NAME|FILE",
            help="A built-in suite (canary), or your own file (mine.toml).",
            rich_help_panel=WHAT,
            autocompletion=completion(lambda: nightly.suite.suite_names()),
        ),
    ] = "canary",
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            metavar="TIME",
            help="Wall-clock limit: 90s, 30m, 4h; cells that do not fit come first the next night.",
            show_default="as long as it takes",
            rich_help_panel=HOW_LONG,
        ),
    ] = None,
    allow: _options.Allow = None,
    out: _options.Out = _options.REPORTS,
    notify: _nightly_night.Notify = None,
    notify_on: _nightly_night.NotifyOn = "problem",
    print_cron: _nightly_night.PrintCron = False,
    *,
    settings: Settings,
    choice: Choice | None,
    common: Common,
) -> int:
    """Measure a suite, compare it with previous nights, and write a report page; made for cron.

    A value outside its band is measured again at once; only confirmed changes are regressions (exit code 3).  The
    verdict is one line on stdout, with --quiet only if something is wrong.

    Examples:
      normbench nightly --suite canary --budget 4h
      normbench nightly --suite mine.toml --out pages
    """
    if context.invoked_subcommand is not None:
        refuse_options(context)
        return EXIT_OK
    _nightly_night.check_when(notify_on)
    allow_packages(allow or [])
    check_executor([settings.get("nproc", 1)], choice.executor if choice else None)
    found = nightly.processes.with_processes(nightly.suite.read_suite(suite), settings)
    seconds = None if budget is None else parse_duration(budget)
    if print_cron:
        given = cli_args(settings)
        return _nightly_night.print_cron(found, budget, out, allow or [], given, notify, notify_on, choice, common)
    return _nightly_night.run(found, seconds, out, notify, notify_on, choice, common)


def refuse_options(context: typer.Context) -> None:
    """Reject options of the night before a sub-command: they would have no effect."""
    sub = context.invoked_subcommand
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        if source is not None and source.name == "COMMANDLINE":
            raise UsageError(
                f"{option.opts[0]} comes before the sub-command {sub}", f"write it after `normbench nightly {sub}`"
            )


app.command("bisect", cls=Command)(nightly_bisect.bisect)
app.command("accept", cls=Command)(nightly_decisions.accept)
app.command("mute", cls=Command)(nightly_decisions.mute)
