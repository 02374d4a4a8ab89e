"""normbench db: make, upgrade and back up the results database; its other commands are in their own files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from normbench_cli import interrupts, paths, store
from normbench_cli.cli import db_check, db_export, db_merge, db_thin
from normbench_cli.cli._help import Command
from normbench_cli.cli._options import Common, common_options
from normbench_cli.cli._output import echo, print_json
from normbench_cli.errors import EXIT_OK

app = typer.Typer(help="Manage the results database.", no_args_is_help=True)


@app.command("upgrade", cls=Command)
@common_options
def upgrade(common: Common) -> int:
    """Create the database, or back it up and upgrade it to this version's schema.

    Examples:
      normbench db upgrade
      normbench db upgrade --db results.db
    """
    location = store.location.parse_location(paths.database(common.db))
    with interrupts.raised():
        before, backup = store.upgrade.upgrade(location)
    if common.json:
        print_json({"database": location.shown, "from": before, "to": store.schema.HEAD, "backup": backup})
    elif before is None:
        echo(f"made {location.shown} (schema {store.schema.HEAD})")
    elif before == store.schema.HEAD:
        echo(f"{location.shown} is up to date (schema {store.schema.HEAD})")
    else:
        saved = f"; backup: {backup}" if backup else ""
        echo(f"upgraded {location.shown} from schema {before} to {store.schema.HEAD}{saved}")
    return EXIT_OK


@app.command("backup", cls=Command)
@common_options
def backup(
    dest: Annotated[
        Path | None, typer.Argument(help="New file, or a folder.", show_default="beside the database")
    ] = None,
    *,
    common: Common,
) -> int:
    """Copy the database to a file; safe while runs are being recorded.

    Examples:
      normbench db backup
      normbench db backup results-before.db
    """
    location = store.location.parse_location(paths.database(common.db))
    with interrupts.raised():
        made = store.backup.backup(location, dest)
    if common.json:
        print_json({"database": location.shown, "backup": made})
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
    location = store.location.parse_location(paths.database(common.db))
    shown = str(location.path or location.shown)
    if common.json:
        print_json({"database": shown, "exists": location.path.exists() if location.path else None})
    else:
        echo(shown)
    return EXIT_OK


app.command("check", cls=Command)(db_check.check)
app.command("merge", cls=Command)(db_merge.merge)
app.command("export", cls=Command)(db_export.export)
app.command("thin", cls=Command)(db_thin.thin)
