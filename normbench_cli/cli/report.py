"""normbench report: recorded runs compared, in the terminal and as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from normbench_cli import paths
from normbench_cli.cli import _options
from normbench_cli.cli._document import print_document
from normbench_cli.cli._options import Common, common_options
from normbench_cli.cli._output import hint, print_json
from normbench_cli.errors import EXIT_OK

RUNS, VALUES, FILES = "Filters", _options.VALUES_PANEL, _options.FILES_PANEL
Names = list[str] | None


@common_options
def report(
    where: _options.Where = None,
    tag: _options.Tag = None,
    kind: Annotated[
        str, typer.Option("--kind", help="Kind of runs: train or profile.", rich_help_panel=RUNS)
    ] = "train",
    metric: _options.Metrics = None,
    by: Annotated[
        Names,
        typer.Option(
            "--by",
            metavar="SETTING,...",
            help="Group runs by these settings.",
            show_default="settings that vary, except the seed",
            rich_help_panel=VALUES,
        ),
    ] = None,
    across: Annotated[
        Names,
        typer.Option(
            "--across",
            metavar="SETTING,...",
            help="One column per value of these settings, such as data; for profiles: date, host, torch, ...",
            rich_help_panel=VALUES,
        ),
    ] = None,
    baseline: Annotated[
        str,
        typer.Option(
            "--baseline",
            metavar="VALUE",
            help="Compare every group with this one, paired by seed: batchnorm, or norm=batchnorm.",
            rich_help_panel=VALUES,
        ),
    ] = "",
    test: Annotated[
        bool | None,
        typer.Option(
            "--test/--no-test",
            help="Underline groups that a paired test cannot tell from the best.",
            show_default="with --across or --baseline",
            rich_help_panel=VALUES,
        ),
    ] = None,
    sort: Annotated[
        str,
        typer.Option(
            "--sort",
            metavar="NAME",
            help="Sort rows by a metric or setting; -NAME sorts in descending order.",
            rich_help_panel=VALUES,
        ),
    ] = "",
    limit: Annotated[
        int,
        typer.Option("--limit", metavar="N", min=0, help="Show at most N rows; 0 shows all.", rich_help_panel=VALUES),
    ] = 0,
    at: Annotated[
        str,
        typer.Option(
            "--at",
            help="Take values at this point of each run: 50%, or 'epoch 10'.",
            show_default="the end",
            rich_help_panel=VALUES,
        ),
    ] = "",
    target: Annotated[
        str,
        typer.Option(
            "--target",
            metavar="METRIC=SCORE",
            help="Report steps and seconds to reach a score, such as test/accuracy=0.9, with a test and a plot.",
            rich_help_panel=VALUES,
        ),
    ] = "",
    curve: Annotated[
        Names,
        typer.Option(
            "--curve",
            metavar="NAME,...",
            help="Plot a metric over training, such as train/loss (may be repeated).",
            rich_help_panel=FILES,
        ),
    ] = None,
    plot: Annotated[
        Names,
        typer.Option(
            "--plot",
            metavar="KIND",
            help="Draw a plot: curve, pareto, strength, ratios, critical_difference, trend, bars, convergence.",
            rich_help_panel=FILES,
        ),
    ] = None,
    form: _options.Format = None,
    out: _options.Out = _options.REPORTS,
    to: Annotated[
        tuple[str, Path] | None,
        typer.Option(
            "--to",
            metavar="TOOL FOLDER",
            help="Export the runs and their curves to tensorboard, wandb or mlflow (offline).",
            rich_help_panel=FILES,
        ),
    ] = None,
    *,
    common: Common,
) -> int:
    """Compare recorded runs, grouped by the settings that vary: mean ± sd (n) over seeds.

    Examples:
      normbench report --by norm,act --across data --baseline batchnorm --where 'seed<10' --format latex
      normbench report --where norm=popnorm --at 50% --curve train/loss
    """
    from normbench_cli.reporting import export, files, query, render, report

    paths.set_plot_cache()
    formats = files.parse_formats(form if form is not None else "" if common.json else "md")
    if to:
        export.require(to[0])
    asked = query.ReportQuery(
        metrics=metric or [],
        by=split_names(by),
        where=where or [],
        tag=tag,
        kind=kind,
        at=at,
        curves=split_names(curve),
        target=target,
        across=split_names(across),
        baseline=baseline,
        test=test,
        sort=sort,
        limit=limit,
        plots=plot or [],
        details="html" in formats,
    )
    made = report.make_report(asked, common.db)
    document = render.to_document(made)
    if common.json:
        print_json(render.to_json(made))
        for line in made.damage:
            hint(line)
    else:
        print_document(document)
    for line in files.write_files(document, out, formats):
        hint(f"written: {line}", common.quiet)
    if to:
        count = export.export_runs(made.runs["id"].tolist(), *to, common.db)
        hint(f"written for {to[0]}: {count} run{'s' * (count != 1)} in {to[1]}", common.quiet)
    return EXIT_OK


def split_names(texts: list[str] | None) -> list[str]:
    """Names given by repeating the option or separated by commas."""
    return [name.strip() for text in texts or [] for name in text.split(",") if name.strip()]
