"""normbench report: what was measured, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from normbench_cli import paths
from normbench_cli.cli import _options
from normbench_cli.errors import EXIT_OK, NormbenchError, UsageError

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
    from normbench_cli.reporting import render
    from normbench_cli.reporting.collect import NothingMeasured, ReportQuery, collect
    from normbench_cli.reporting.curves import curves
    from normbench_cli.reporting.curves import write as write_curve
    from normbench_cli.store import Store
    from normbench_cli.store.location import NoDatabase

    forms = [name.strip() for name in (form or ("" if json else "md")).split(",") if name.strip()]
    for name in forms:
        if name not in render.FILES:
            raise UsageError(f"--format {name} is not one of {', '.join(render.FILES)}", "choose one or more of them")
    question = ReportQuery(metric or [], split_words(by), where or [], tag, kind, at)
    try:
        with Store.open(db, write=False) as store:
            found = collect(store, question)
            drawn = {name: curves(store, question, name) for name in split_words(curve)}
    except NoDatabase as error:
        raise NothingMeasured(str(error)) from error
    if json:
        print_json(render.to_json(found))
    else:
        print_table(render.to_rows(found), caption="\n".join(found.notes))
    if forms or drawn:
        paths.ensure_writable(out, "--out")
    for name in forms:
        try:
            hint(f"written: {render.write(found, out, name)}", quiet)
        except OSError as error:
            raise NormbenchError(f"{error.filename}: {error.strerror}", "choose another folder with --out") from error
    for name, points in drawn.items():
        for path in write_curve(points, name, out):
            hint(f"written: {path}", quiet)
    return EXIT_OK


def split_words(texts: list[str] | None) -> list[str]:
    """Words repeated or with commas, as a person likes."""
    return [word.strip() for text in texts or [] for word in text.split(",") if word.strip()]
