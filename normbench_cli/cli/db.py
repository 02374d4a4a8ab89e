"""normbench db: make, upgrade, check and back up the results database."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from normbench_cli import interrupts, paths, store
from normbench_cli.cli._help import Command
from normbench_cli.cli._options import Common, common_options
from normbench_cli.cli._output import echo, hint, print_json
from normbench_cli.errors import EXIT_ERROR, EXIT_OK

PROBLEMS_SHOWN = 50

app = typer.Typer(help="Look after the results database.", no_args_is_help=True)


@app.command("upgrade", cls=Command)
@common_options
def upgrade(common: Common) -> int:
    """Make the database, or bring it to the schema of this version after a backup.

    Examples:
      normbench db upgrade
      normbench db upgrade --db results.db
    """
    place = store.location.parse_location(paths.database(common.db))
    with interrupts.raised():
        before, backup = store.upgrade.upgrade(place)
    if common.json:
        print_json({"database": place.shown, "from": before, "to": store.schema.HEAD, "backup": backup})
    elif before is None:
        echo(f"made {place.shown} (schema {store.schema.HEAD})")
    elif before == store.schema.HEAD:
        echo(f"{place.shown} is up to date (schema {store.schema.HEAD})")
    else:
        saved = f"; backup: {backup}" if backup else ""
        echo(f"upgraded {place.shown} from schema {before} to {store.schema.HEAD}{saved}")
    return EXIT_OK


@app.command("check", cls=Command)
@common_options
def check(common: Common) -> int:
    """Check the database: its file, every value of every row, lost rows, dead runs; exit code 1 if it is damaged.

    Examples:
      normbench db check
      normbench db check --json
    """
    with store.Store.open(common.db, write=False, sweep=False) as opened:
        health = store.check.check_database(opened)
        shown = opened.location.shown
    sound = not health.problems
    if common.json:
        print_json({"database": shown, "ok": sound, **vars(health)})
    else:
        counts = ", ".join(f"{count} {name}" for name, count in health.rows.items())
        echo(f"{shown}: schema {health.version}" + (f"; {counts}; sound" if sound else ""))
        for problem in health.problems[:PROBLEMS_SHOWN]:
            echo(f"problem: {problem}")
        if len(health.problems) > PROBLEMS_SHOWN:
            echo(f"and {len(health.problems) - PROBLEMS_SHOWN} more problems; --json lists all")
        for run_id in health.zombies:
            echo(f"run {run_id} is marked running but its process is gone; the next command will mark it interrupted")
    if not sound and not common.json:
        hint(health.do)
    return EXIT_OK if sound else EXIT_ERROR


@app.command("backup", cls=Command)
@common_options
def backup(
    dest: Annotated[
        Path | None, typer.Argument(help="A new file, or a folder.", show_default="beside the database")
    ] = None,
    *,
    common: Common,
) -> int:
    """Copy the database to a file, also while runs are being recorded.

    Examples:
      normbench db backup
      normbench db backup results-before.db
    """
    place = store.location.parse_location(paths.database(common.db))
    with interrupts.raised():
        made = store.backup.backup(place, dest)
    if common.json:
        print_json({"database": place.shown, "backup": made})
    else:
        echo(str(made))
    return EXIT_OK


@app.command("path", cls=Command)
@common_options
def path(common: Common) -> int:
    """Print where the database is.

    Examples:
      normbench db path
      sqlite3 "$(normbench db path)" "SELECT id, norm FROM runs"
    """
    place = store.location.parse_location(paths.database(common.db))
    shown = str(place.path or place.shown)
    if common.json:
        print_json({"database": shown, "exists": place.path.exists() if place.path else None})
    else:
        echo(shown)
    return EXIT_OK
