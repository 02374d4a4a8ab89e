"""normbench reproduce: run a paper's table or figure, and compare it with what the paper printed."""

from __future__ import annotations

from typing import Annotated

import typer

from normbench_cli import suites as catalog
from normbench_cli.cli import _options
from normbench_cli.cli._executors import executor_options
from normbench_cli.cli._options import Common, Settings, common_options, completion, config_options
from normbench_cli.durations import parse_duration
from normbench_cli.errors import UsageError
from normbench_cli.experiments.distributed.rank import check_executor
from normbench_cli.experiments.executors.choice import Choice
from normbench_cli.registry.trust import allow_packages
from normbench_cli.seeds import parse_seeds

RUNS = "Runs"


@config_options({"Device and speed": ("nproc", "sync_norm")})
@executor_options()
@common_options
def reproduce(
    suites: Annotated[
        list[str],
        typer.Argument(
            metavar="SUITE...",
            help="Suites (see `normbench list suites`), the name of a paper, all, or your own suite or experiment "
            "files (mine.toml).",
            autocompletion=completion(lambda: ["all", *catalog.names()]),
        ),
    ],
    scale: Annotated[
        str,
        typer.Option(
            "--scale",
            metavar="smoke|short|full",
            help="full: the paper's protocol; short: shorter schedules and at most three seeds; smoke: every cell in "
            "seconds on stand-in data.",
            rich_help_panel=RUNS,
        ),
    ] = "short",
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            metavar="TIME",
            help="Approximate time for --scale short: 90s, 30m, 2h.",
            show_default="1h",
            rich_help_panel=RUNS,
        ),
    ] = None,
    seeds: Annotated[
        list[str] | None,
        typer.Option(
            "--seeds",
            "--seed",
            metavar="SEEDS",
            help="Seeds to use instead of the suite's: 3, 0-9.",
            rich_help_panel=RUNS,
        ),
    ] = None,
    allow: _options.Allow = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would run and for how long.", rich_help_panel=RUNS)
    ] = False,
    no_run: Annotated[
        bool, typer.Option("--no-run", help="Only compare and judge recorded runs.", rich_help_panel=RUNS)
    ] = False,
    form: _options.Format = None,
    out: _options.Out = _options.REPORTS,
    *,
    settings: Settings,
    choice: Choice | None,
    common: Common,
) -> int:
    """Reproduce a paper's tables and figures: compare the results with the published numbers and judge the claims.

    Recorded runs are not repeated, so the same command continues where it stopped.

    Examples:
      normbench reproduce augnorm-graph/table2 --scale full
      normbench reproduce all --scale smoke --format md,html
    """
    allow_packages(allow or [])
    name = catalog.scale_name(scale)
    if budget is not None and name != "short":
        raise UsageError(f"--budget applies only to --scale short, and the scale is {name}", "drop --budget")
    seconds = parse_duration(budget or "1h")
    chosen = catalog.Scale(name, seeds=tuple(parse_seeds(seeds or [])), settings=tuple(settings.items()))
    check_executor([settings.get("nproc", 1)], choice.executor if choice else None)
    found = catalog.select(suites)
    from normbench_cli.cli import _reproduction

    if dry_run:
        return _reproduction.dry_run(found, chosen, seconds, common)
    return _reproduction.run(found, chosen, seconds, form, out, choice, common, no_run=no_run)
