"""normbench report: what was measured, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from normbench_cli.cli import _options
from normbench_cli.errors import EXIT_OK

Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", "-m", help="A metric such as test/accuracy (may be repeated).", show_default="a few"),
]
By = Annotated[
    list[str] | None,
    typer.Option("--by", help="Group by this setting (may be repeated).", show_default="what varies but the seed"),
]
Formats = Annotated[
    str | None,
    typer.Option("--format", help="Files to write: md, csv.", show_default="md; none with --json"),
]


def report(
    metric: Metrics = None,
    by: By = None,
    where: _options.Where = None,
    tag: _options.Tag = None,
    at: Annotated[
        str, typer.Option("--at", help="A time in the runs: 50%, or 'epoch 10'.", show_default="the end")
    ] = "",
    kind: Annotated[str, typer.Option("--kind", help="The kind of runs.")] = "train",
    curve: Annotated[
        list[str] | None,
        typer.Option("--curve", help="Draw how a metric went, like train/loss (may be repeated)."),
    ] = None,
    form: Formats = None,
    out: Annotated[Path, typer.Option("--out", help="Folder for the files.")] = Path("reports"),
    db: _options.Database = None,
    json: _options.Json = False,
    debug: _options.Debug = False,
    quiet: _options.Quiet = False,
) -> int:
    """Compare recorded runs: grouped by the settings that vary, mean ± sd (n) over the seeds."""
    from normbench_cli.cli._output import hint, print_json, print_table
    from normbench_cli.reporting.query import ReportQuery
    from normbench_cli.reporting.render import parse_formats, to_json, to_rows, write_files
    from normbench_cli.reporting.report import make_report

    formats = parse_formats(form or ("" if json else "md"))
    query = ReportQuery(metric or [], split_words(by), where or [], tag, kind, at, split_words(curve))
    made = make_report(query, db)
    if json:
        print_json(to_json(made))
    else:
        print_table(to_rows(made), caption="\n".join(made.notes))
    for path in write_files(made, out, formats):
        hint(f"written: {path}", quiet)
    return EXIT_OK


def split_words(texts: list[str] | None) -> list[str]:
    """Words repeated or with commas, as a person likes."""
    return [word.strip() for text in texts or [] for word in text.split(",") if word.strip()]
