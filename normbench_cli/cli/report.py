"""normbench report: recorded runs compared, in the terminal and as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from normbench_cli.cli import _options
from normbench_cli.cli._options import Common, common_options
from normbench_cli.cli._output import hint, print_json, print_table
from normbench_cli.errors import EXIT_OK

RUNS, VALUES, FILES = "Which runs", "What is compared", "Files"
Names = list[str] | None


@common_options
def report(
    where: _options.Where = None,
    tag: _options.Tag = None,
    kind: Annotated[
        str, typer.Option("--kind", help="The kind of runs: train or profile.", rich_help_panel=RUNS)
    ] = "train",
    metric: Annotated[
        Names,
        typer.Option(
            "--metric",
            "-m",
            metavar="NAME",
            help="A metric such as test/accuracy (may be repeated).",
            show_default="accuracy, loss, time and solver, where recorded",
            rich_help_panel=VALUES,
        ),
    ] = None,
    by: Annotated[
        Names,
        typer.Option(
            "--by",
            metavar="SETTING,...",
            help="Group the runs by these settings.",
            show_default="the settings that vary, without the seed",
            rich_help_panel=VALUES,
        ),
    ] = None,
    at: Annotated[
        str,
        typer.Option(
            "--at",
            help="A point of each run's schedule: 50%, or 'epoch 10'.",
            show_default="the end",
            rich_help_panel=VALUES,
        ),
    ] = "",
    curve: Annotated[
        Names,
        typer.Option(
            "--curve",
            metavar="NAME,...",
            help="Plot a metric over time, like train/loss (may be repeated).",
            rich_help_panel=FILES,
        ),
    ] = None,
    plot: Annotated[
        Names,
        typer.Option(
            "--plot",
            metavar="KIND",
            help="Plot curve, pareto, strength, ratios, critical_difference, trend or bars (may be repeated).",
            rich_help_panel=FILES,
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="md,csv",
            help="The files to write.",
            show_default="md; none with --json",
            rich_help_panel=FILES,
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="Folder for the files.", rich_help_panel=FILES)] = Path("reports"),
    *,
    common: Common,
) -> int:
    """Compare recorded runs, grouped by the settings that vary: mean ± sd (n) over the seeds.

    Examples:
      normbench report --metric test/accuracy --by norm,act
      normbench report --where norm=popnorm --at 50% --curve train/loss
    """
    from normbench_cli.reporting import query, render, report

    formats = render.parse_formats(form or ("" if common.json else "md"))
    asked = query.ReportQuery(metric or [], split_names(by), where or [], tag, kind, at, split_names(curve), plot or [])
    made = report.make_report(asked, common.db)
    if common.json:
        print_json(render.to_json(made))
    else:
        print_table(render.to_rows(made), caption="\n".join(made.notes))
    for path in render.write_files(made, out, formats):
        hint(f"written: {path}", common.quiet)
    return EXIT_OK


def split_names(texts: list[str] | None) -> list[str]:
    """Names given by repeating the option or separated by commas."""
    return [name.strip() for text in texts or [] for name in text.split(",") if name.strip()]
