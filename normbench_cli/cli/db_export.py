"""normbench db export: the tables as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from normbench_cli import interrupts, store
from normbench_cli.cli import _options
from normbench_cli.cli._options import Common, common_options
from normbench_cli.cli._output import echo, hint, print_json
from normbench_cli.errors import EXIT_INCOMPLETE, EXIT_OK, UsageError


@common_options
def export(
    dest: Annotated[Path, typer.Argument(help="New folder.")],
    form: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="File format: csv, parquet or sqlite.")
    ] = "csv",
    series: Annotated[bool, typer.Option("--series", help="Include raw series.")] = False,
    where: _options.Where = None,
    *,
    common: Common,
) -> int:
    """Export every table to a file, with a manifest.json that describes them.

    --where exports the matching runs, without nights; --format sqlite writes one small file for `db merge`.  Exit code
    5: damaged rows were left out.

    Examples:
      normbench db export results --format parquet
      normbench db export kept --format sqlite --where norm=popnorm --series
    """
    if len(dest.parts) > 1 and dest.parts[0].endswith(":"):
        raise UsageError(f"{dest} is not a folder", "tables are exported to files: give the name of a new folder")
    accepted = store.filter.parse_where(where or [])
    chosen = store.export.parse_format(form)
    with interrupts.raised(), store.Store.open(common.db, write=False) as opened:
        manifest = store.export.export(opened, dest, chosen, series=series, where=accepted)
        damage = opened.damage()
    if common.json:
        print_json({"folder": dest, **manifest, "left_out": damage})
    else:
        for name, file in manifest["files"].items():
            echo(f"{dest / name}: {file['rows']:,} {'runs' if chosen == store.export.SQLITE else 'rows'}")
        if chosen != store.export.SQLITE:
            echo(str(dest / store.export.MANIFEST))
    for line in damage:
        hint(line)
    return EXIT_INCOMPLETE if damage else EXIT_OK
