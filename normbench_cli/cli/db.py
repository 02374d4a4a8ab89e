"""normbench db: look after the database."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from normbench_cli.cli import _options
from normbench_cli.errors import EXIT_ERROR, EXIT_OK

app = typer.Typer(help="Look after the database.", no_args_is_help=True)


@app.command("upgrade")
def upgrade(
    db: _options.Database = None,
    json: _options.Json = False,
    debug: _options.Debug = False,
    quiet: _options.Quiet = False,
) -> int:
    """Bring the database to the schema of this normbench, after a backup."""
    from normbench_cli import paths
    from normbench_cli.cli._output import print_json
    from normbench_cli.store.location import parse_location
    from normbench_cli.store.schema import HEAD
    from normbench_cli.store.upgrade import upgrade

    place = parse_location(paths.database(db))
    before, backup = upgrade(place)
    if json:
        print_json({"database": place.shown, "from": before, "to": HEAD, "backup": backup})
    elif before is None:
        print(f"made {place.shown} (schema {HEAD})")
    elif before == HEAD:
        print(f"{place.shown} is up to date (schema {HEAD})")
    else:
        print(f"upgraded {place.shown} from schema {before} to {HEAD}" + (f"; backup: {backup}" if backup else ""))
    return EXIT_OK


@app.command("check")
def check(
    db: _options.Database = None,
    json: _options.Json = False,
    debug: _options.Debug = False,
    quiet: _options.Quiet = False,
) -> int:
    """Look whether the database is sound; exit code 1 if it is not."""
    from normbench_cli.cli._output import hint, print_json
    from normbench_cli.store import Store
    from normbench_cli.store.check import check_database

    with Store.open(db, write=False, sweep=False) as store:
        health = check_database(store)
        shown = store.location.shown
    sound = not health.problems
    if json:
        print_json({"database": shown, "ok": sound, **vars(health)})
    else:
        counts = ", ".join(f"{count} {name}" for name, count in health.rows.items())
        print(f"{shown}: schema {health.version}" + (f"; {counts}; sound" if sound else ""))
        for problem in health.problems:
            print(f"problem: {problem}")
        for run_id in health.zombies:
            print(f"run {run_id} is marked running but its process is gone; the next command will mark it interrupted")
    if not sound:
        hint("restore a backup, or save what is readable with sqlite3's .recover", quiet)
    return EXIT_OK if sound else EXIT_ERROR


@app.command("backup")
def backup(
    dest: Annotated[
        Path | None, typer.Argument(help="A new file, or a folder.", show_default="beside the database")
    ] = None,
    db: _options.Database = None,
    json: _options.Json = False,
    debug: _options.Debug = False,
    quiet: _options.Quiet = False,
) -> int:
    """Copy the database to a file; runs may go on meanwhile."""
    from normbench_cli import paths
    from normbench_cli.cli._output import print_json
    from normbench_cli.store.backup import backup
    from normbench_cli.store.location import parse_location

    place = parse_location(paths.database(db))
    made = backup(place, dest)
    if json:
        print_json({"database": place.shown, "backup": made})
    else:
        print(made)
    return EXIT_OK


@app.command("path")
def path(
    db: _options.Database = None,
    json: _options.Json = False,
    debug: _options.Debug = False,
    quiet: _options.Quiet = False,
) -> int:
    """Print where the database is."""
    from normbench_cli import paths
    from normbench_cli.cli._output import print_json
    from normbench_cli.store.location import parse_location

    place = parse_location(paths.database(db))
    shown = str(place.path or place.shown)
    if json:
        print_json({"database": shown, "exists": place.path.exists() if place.path else None})
    else:
        print(shown)
    return EXIT_OK
