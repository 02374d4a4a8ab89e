"""normbench db check: check the database, and repair it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from normbench_cli import interrupts, store
from normbench_cli.cli._options import Common, common_options
from normbench_cli.cli._output import echo, hint, print_json
from normbench_cli.errors import EXIT_ERROR, EXIT_OK

if TYPE_CHECKING:
    from normbench_cli.store.check import Health
    from normbench_cli.store.repair import Repaired

PROBLEMS_SHOWN = 50
WITH_NIGHTS = ("night_values", "night_decisions")  # tables of nights, counted in --json only


@common_options
def check(
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Back up, repair what can be repaired, and name what is lost."),
    ] = False,
    *,
    common: Common,
) -> int:
    """Check the database file and every value in it; exit code 1 if it is damaged.

    Also finds runs and nights whose process is gone, and checkpoints without a run.

    Examples:
      normbench db check
      normbench db check --repair
    """
    if repair:
        with interrupts.held_back():
            return show_repaired(store.repair.repair(common.db), common)
    with store.Store.open(common.db, write=False, sweep=False) as opened:
        health = store.check.check_database(opened)
        shown = opened.location.shown
    sound = not health.problems
    if common.json:
        print_json({"database": shown, "ok": sound, **vars(health)})
        return EXIT_OK if sound else EXIT_ERROR
    echo(f"{shown}: schema {health.version}" + (f"; {counts(health.rows)}; sound" if sound else ""))
    print_some([f"problem: {problem}" for problem in health.problems])
    for line in remarks(health):
        echo(line)
    if not sound:
        hint(health.do)
    return EXIT_OK if sound else EXIT_ERROR


def counts(rows: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in rows.items() if name not in WITH_NIGHTS)


def print_some(lines: list[str]) -> None:
    for line in lines[:PROBLEMS_SHOWN]:
        echo(line)
    if len(lines) > PROBLEMS_SHOWN:
        echo(f"and {len(lines) - PROBLEMS_SHOWN} more; --json lists all")


def remarks(health: Health) -> Iterable[str]:
    """Remarks on what is not damage."""
    for run_id in health.dead_runs:
        yield f"run {run_id} is marked running but its process is gone; the next command will mark it interrupted"
    for night_id in health.dead_nights:
        yield f"night {night_id} is marked running but its process is gone; --repair marks it killed"
    for spool in health.spools:
        yield f"not recorded yet: {spool}; the next command that can write the database records it"
    if health.orphans:
        yield f"folders of checkpoints without a run: {', '.join(health.orphans)}; --repair moves them to orphaned/"
    if missing := health.without_checkpoint:
        some = ", ".join(missing[:3]) + (" and more" if len(missing) > 3 else "")
        yield f"finished runs without a checkpoint here, which eval cannot score: {len(missing)} ({some})"


def show_repaired(repaired: Repaired, common: Common) -> int:
    sound = not repaired.health.problems
    code = EXIT_OK if sound else EXIT_ERROR
    if common.json:
        facts = {"repaired": repaired.done, "lost": repaired.lost, "backup": repaired.backup}
        print_json({"ok": sound, **facts, **vars(repaired.health)})
        return code
    if repaired.backup:
        echo(f"backup: {repaired.backup}")
    print_some([*(f"repaired: {line}" for line in repaired.done), *(f"lost: {line}" for line in repaired.lost)])
    if not (repaired.done or repaired.lost):
        echo("nothing to repair")
    print_some([f"problem: {problem}" for problem in repaired.health.problems])
    if repaired.lost:
        hint("what is lost here is still in the backup, as far as it can be read", common.quiet)
    return code
