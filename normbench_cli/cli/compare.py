"""normbench compare: two runs, or the runs of two filters, side by side."""

from __future__ import annotations

from typing import Annotated

import typer

from normbench_cli import paths
from normbench_cli.cli import _options
from normbench_cli.cli._document import print_document
from normbench_cli.cli._options import Common, common_options
from normbench_cli.cli._output import hint, print_json
from normbench_cli.errors import EXIT_OK
from normbench_cli.reporting import compare, files

VALUES, FILES = _options.VALUES_PANEL, _options.FILES_PANEL
HELP_OF_A = "Run id, or a filter: norm=batchnorm, 'norm=popnorm and act=relu'."


@common_options
def compare_two(
    a: Annotated[str, typer.Argument(metavar="A", help=HELP_OF_A)],
    b: Annotated[str, typer.Argument(metavar="B", help="Run id or filter to compare with A.")],
    metric: _options.Metrics = None,
    curve: Annotated[
        list[str] | None,
        typer.Option(
            "--curve",
            metavar="NAME",
            help="Also overlay the curves of this metric or series (may be repeated).",
            rich_help_panel=VALUES,
        ),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            help="Kind of runs: train or profile.",
            show_default="whichever both sides have",
            rich_help_panel=VALUES,
        ),
    ] = "",
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT,...",
            help="Files to write, with overlaid curves: md, latex, html, csv, json, parquet.",
            show_default="none",
            rich_help_panel=FILES,
        ),
    ] = "",
    out: _options.Out = _options.REPORTS,
    *,
    common: Common,
) -> int:
    """Compare two runs, or two sets of runs paired by seed: settings, metrics, curves, costs.

    `normbench runs diff` shows what differs between two runs, without statistics.

    Examples:
      normbench compare d322c4f1 5e81
      normbench compare norm=batchnorm 'norm=popnorm:kappa=4 and seed<10' --metric test/accuracy --format html
    """
    paths.set_plot_cache()
    formats = files.parse_formats(form)
    made = compare.comparison.compare(
        compare.comparison.CompareQuery((a, b), metric or [], curve or [], kind), common.db
    )
    document = compare.render.to_document(made)
    if common.json:
        print_json(compare.render.to_json(made))
    else:
        print_document(document)
    if formats:
        for line in files.write_files(document, out, formats, stem="compare"):
            hint(f"written: {line}", common.quiet)
    return EXIT_OK
