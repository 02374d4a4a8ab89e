"""normbench runs rm: remove runs by id, or by age."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from normbench_cli import interrupts, store
from normbench_cli.cli import _options
from normbench_cli.cli._options import Common, common_options
from normbench_cli.cli._output import echo, hint, print_json, print_table
from normbench_cli.cli._tables import short_time
from normbench_cli.config import GRID_FIELDS
from normbench_cli.errors import EXIT_ERROR, EXIT_OK, UsageError
from normbench_cli.local_time import local_time

if TYPE_CHECKING:
    from normbench_cli.store.schema import Run

BY_AGE = "Runs by age"
BEST_BY = "test/accuracy"


@common_options
def remove(
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN]...", help="Run ids, or unique prefixes of them.")
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than", metavar="AGE", help="Only runs that ended longer ago: 90d, 12h, 6w.", rich_help_panel=BY_AGE
        ),
    ] = None,
    keep_best: Annotated[
        bool,
        typer.Option(
            "--keep-best",
            help="Keep the best finished run of each configuration (all settings but the seed).",
            rich_help_panel=BY_AGE,
        ),
    ] = False,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric", metavar="NAME", help="Metric for --keep-best.", show_default=BEST_BY, rich_help_panel=BY_AGE
        ),
    ] = None,
    where: _options.Where = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would be removed.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Also remove runs that are running or damaged.")] = False,
    *,
    common: Common,
) -> int:
    """Remove runs: their database rows and checkpoint folders. Nightly measurements are kept.

    Examples:
      normbench runs rm d322 5e81 --yes
      normbench runs rm --older-than 90d --keep-best --dry-run
    """
    from normbench_cli.experiments import delete

    check_selection(runs, older_than, keep_best, metric, where)
    age = store.retention.parse_age(older_than) if older_than is not None else None
    accepted = store.filter.parse_where(where or [])
    with store.Store.open(common.db, create=False, write=not dry_run) as opened:
        kept: set[str] = set()
        if age is not None:
            old = store.retention.old_runs(opened, age, accepted)["id"].tolist()
            kept = store.retention.best_runs(opened, metric or BEST_BY) & set(old) if keep_best else set()
            runs = [run_id for run_id in old if run_id not in kept]
        found = delete.deletable_runs(runs or [], opened, force=force)
        for line in opened.damage():
            hint(line)
        size = sum(delete.folder_bytes(run_id) for run_id in found)
        if dry_run:
            return show_plan(found, kept, size, common)
        if found and not yes and not confirmed(found, ask=not common.json):
            hint("nothing was removed", common.quiet)
            return EXIT_ERROR
        with interrupts.held_back():  # rows and folders go together
            delete.delete_runs(list(found), opened)
        freed, why = store.space.give_back(opened) if found else (0, "")
    if common.json:
        print_json({"removed": list(found), "kept": sorted(kept), "folder_bytes": size, "database_bytes": freed})
        return EXIT_OK
    echo(f"removed {', '.join(found)}" if found else "no run is that old" if not kept else "nothing to remove")
    tell_of_rest(kept, common)
    if size or freed:
        hint(f"freed {freed:,} bytes of the database and {size:,} bytes of checkpoints", common.quiet)
    if why:
        hint(why, common.quiet)
    return EXIT_OK


def check_selection(
    runs: list[str] | None, older_than: str | None, keep_best: bool, metric: str | None, where: list[str] | None
) -> None:
    if runs and older_than is not None:
        raise UsageError("runs are named and --older-than is given", "name runs or their age")
    if not runs and older_than is None:
        raise UsageError("nothing says which runs to remove", "name runs, or give --older-than 90d")
    if older_than is None and (keep_best or where):
        raise UsageError("--keep-best and --where need --older-than", "give an age such as --older-than 90d")
    if metric is not None and not keep_best:
        raise UsageError("--metric says what --keep-best keeps", "add --keep-best")


def show_plan(found: Mapping[str, Run | None], kept: Iterable[str], size: int, common: Common) -> int:
    rows = [plan_row(run_id, run) for run_id, run in found.items()]
    if common.json:
        print_json({"would_remove": list(found), "kept": sorted(kept), "folder_bytes": size})
    elif rows:
        print_table(rows)
        hint(f"would remove {len(rows)} runs and {size:,} bytes of checkpoints", common.quiet)
    else:
        echo("nothing would be removed")
    if not common.json:
        tell_of_rest(kept, common)
    return EXIT_OK


def plan_row(run_id: str, run: Run | None) -> dict[str, Any]:
    if run is None:
        return {"run": run_id, "status": "damaged"}
    settings = {name: str(getattr(run, name)) for name in (*GRID_FIELDS, "seed")}
    return {"run": run_id, "status": run.status, **settings, "started": short_time(local_time(run.started_at))}


def tell_of_rest(kept: Iterable[str], common: Common) -> None:
    if kept:
        hint(f"kept as the best of their configurations: {', '.join(sorted(kept))}", common.quiet)


def confirmed(runs: Mapping[str, Run | None], ask: bool) -> bool:
    if not ask or not sys.stdin.isatty():
        raise UsageError("removing runs needs a confirmation, which cannot be asked for here", "confirm with --yes")
    for run_id, run in runs.items():
        settings = " ".join(str(getattr(run, name)) for name in GRID_FIELDS)
        hint(f"{run_id}  {settings} seed {run.seed}  {run.status}" if run else f"{run_id}  damaged")
    return typer.confirm(f"Remove {'this run' if len(runs) == 1 else f'these {len(runs)} runs'}?", err=True)
