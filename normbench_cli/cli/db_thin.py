"""normbench db thin: keep fewer values of old raw series."""

from __future__ import annotations

from typing import Annotated

import typer

from normbench_cli import interrupts, store
from normbench_cli.cli import _options
from normbench_cli.cli._options import Common, common_options
from normbench_cli.cli._output import echo, hint, print_json
from normbench_cli.errors import EXIT_OK


@common_options
def thin(
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="AGE", help="Only runs that ended longer ago: 30d, 12h, 6w.")
    ],
    every: Annotated[
        int, typer.Option("--every", metavar="N", min=2, max=10_000, help="Keep one of N consecutive values.")
    ] = 10,
    where: _options.Where = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be thinned.")] = False,
    *,
    common: Common,
) -> int:
    """Thin the raw series (one value per step) of runs that ended long ago.

    Values per epoch stay, and reports mention the thinning.  A series is thinned once; runs that can still be resumed
    are skipped.

    Examples:
      normbench db thin --older-than 30d
      normbench db thin --older-than 30d --every 20 --dry-run
    """
    age = store.retention.parse_age(older_than)
    accepted = store.filter.parse_where(where or [])
    with interrupts.raised(), store.Store.open(common.db, create=False, write=not dry_run) as opened:
        old = store.retention.old_runs(opened, age, accepted)
        run_ids = old["id"][old["status"].isin(store.thin.THINNABLE)].tolist()
        done = store.thin.thin_runs(opened, run_ids, every, dry_run=dry_run)
        freed, why = store.space.give_back(opened) if done.runs and not dry_run else (0, "")
        damage = opened.damage()
    if common.json:
        print_json({**vars(done), "dry_run": dry_run, "database_bytes": freed})
    elif not done.runs:
        echo("no series is that old")
    else:
        verb = "would thin" if dry_run else "thinned"
        echo(
            f"{verb} the series of {len(done.runs)} runs from {done.values_before:,} to {done.values_after:,} values: "
            f"{done.bytes_before:,} to {done.bytes_after:,} bytes"
        )
    for line in [*damage, *([why] if why else [])]:
        hint(line, common.quiet)
    return EXIT_OK
