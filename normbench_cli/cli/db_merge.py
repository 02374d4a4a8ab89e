"""normbench db merge: add what other databases have recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from normbench_cli import interrupts, store
from normbench_cli.cli._options import Common, common_options
from normbench_cli.cli._output import echo, hint, print_json
from normbench_cli.errors import EXIT_INCOMPLETE, EXIT_OK

if TYPE_CHECKING:
    from normbench_cli.store._merge.merged import Merged


@common_options
def merge(
    others: Annotated[
        list[str], typer.Argument(metavar="OTHER...", help="Databases, or home folders that contain one.")
    ],
    with_checkpoints: Annotated[
        bool, typer.Option("--with-checkpoints", help="Also copy the runs/ folders beside each database.")
    ] = False,
    *,
    common: Common,
) -> int:
    """Add the runs, nights and decisions of other databases to this one.

    The other databases do not change.  The order of merges does not matter, and merging again adds nothing.  Exit code
    5: damaged runs were left out.

    Examples:
      normbench db merge laptop.db server.db
      normbench db merge server/normbench --with-checkpoints
    """
    with interrupts.raised(), store.Store.open(common.db, sweep=False) as opened:
        done = store.merge.merge(opened, others, with_checkpoints=with_checkpoints)
        shown = opened.location.shown
    if common.json:
        print_json({"database": shown, "merged": [vars(one) for one in done]})
    else:
        for one in done:
            print_summary(one)
    damaged = [f"{name} of {one.source} is left out: {what}" for one in done for name, what in one.left_out.items()]
    for line in damaged:
        hint(line)
    return EXIT_INCOMPLETE if damaged else EXIT_OK


def print_summary(one: Merged) -> None:
    others = [counted(count, table) for table, count in one.rows.items() if table not in ("runs", "environments")]
    parts = [f"{len(one.added)} runs added", f"{len(one.updated)} updated", *others]
    if one.folders:
        parts.append(f"files of {len(one.folders)} runs copied")
    echo(f"{one.source}: {', '.join(parts)}")
    for old, new in one.renamed.items():
        echo(f"{old} of {one.source} is {new} here: {old} is an older one")
    for old, new in one.moved.items():
        echo(f"{old} of this database is {new} now: {old} is an older one of {one.source}")


def counted(count: int, table: str) -> str:
    return f"{count:,} rows of {table}"
