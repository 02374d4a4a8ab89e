"""How `normbench nightly` runs or schedules a night, logs and prints it, and notifies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from normbench_cli import interrupts, nightly, paths
from normbench_cli.cli._options import Common
from normbench_cli.cli._output import echo, hint, print_json
from normbench_cli.errors import EXIT_ERROR, EXIT_OK, NormbenchError, UsageError
from normbench_cli.experiments.executors.choice import Choice
from normbench_cli.registry.spec import suggest

if TYPE_CHECKING:
    from normbench_cli.nightly.cell import NightlySuite
    from normbench_cli.nightly.run import NightResult

NOTIFICATIONS = "Notifications and scheduling"
WHEN = ("problem", "always")

Notify = Annotated[
    str | None,
    typer.Option(
        "--notify",
        metavar="COMMAND",
        help="Shell command to run afterwards, with the verdict as JSON on stdin.",
        rich_help_panel=NOTIFICATIONS,
    ),
]
NotifyOn = Annotated[
    str,
    typer.Option(
        "--notify-on",
        metavar="problem|always",
        help="When to notify: problem (the exit code is not 0) or always.",
        rich_help_panel=NOTIFICATIONS,
    ),
]
PrintCron = Annotated[
    bool,
    typer.Option(
        "--print-cron",
        help="Print a crontab line and systemd units for this command, without measuring.",
        rich_help_panel=NOTIFICATIONS,
    ),
]


def check_when(when: str) -> None:
    if when not in WHEN:
        raise UsageError(f"--notify-on {when} is not known", suggest(when, list(WHEN)))


def run(
    suite: NightlySuite,
    budget: float | None,
    out: Path,
    notify: str | None,
    when: str,
    choice: Choice | None,
    common: Common,
) -> int:
    """Measure a night, print its verdict, and notify."""
    paths.set_plot_cache()
    with nightly.log.night_log() as logger:
        try:
            with interrupts.raised(), nightly.remote.measured_by(choice) as measure:
                result = nightly.run.run_night(suite, common.db, out=out, budget=budget, measure=measure)
        except nightly.lock.Locked as locked:
            logger.info(str(locked))
            return show_locked(locked, common)
        except NormbenchError as error:
            for problem in nightly.conclusion.tell(nightly.conclusion.error_json(suite.name, error), notify, when):
                hint(problem)
            raise
        return show(result, notify, when, common)


def show(result: NightResult, notify: str | None, when: str, common: Common) -> int:
    verdict, pages = result.verdict, result.pages
    code = verdict.exit_code or (EXIT_ERROR if result.problems else EXIT_OK)
    document = nightly.verdict_json.verdict_json(verdict, pages) | {"exit_code": code}
    line = nightly.verdict_line.verdict_line(verdict, pages[0] if pages else None)
    if common.json:
        print_json(document)
    elif not common.quiet or code != EXIT_OK:
        echo(line)
    for problem in [*result.problems, *nightly.conclusion.tell(document, notify, when)]:
        hint(problem)
    return code


def show_locked(locked: nightly.lock.Locked, common: Common) -> int:
    """Another process is measuring a night: this is no error, and there is nothing to do."""
    if common.json:
        print_json({"outcome": "locked", "exit_code": EXIT_OK, "line": str(locked), "holder": locked.facts()})
    elif not common.quiet:
        echo(str(locked))
    return EXIT_OK


def print_cron(
    suite: NightlySuite,
    budget: str | None,
    out: Path,
    allow: Sequence[str],
    settings: Sequence[str],
    notify: str | None,
    when: str,
    choice: Choice | None,
    common: Common,
) -> int:
    """Print a schedule that runs the same command every night.  settings: as options."""
    name = nightly.suite.own_file(suite) or suite.name
    words = ["nightly", "--suite", name, "--out", absolute(str(out))]
    words += ["--budget", budget] if budget else []
    words += [word for package in allow for word in ("--allow", package)]
    words += [*settings, *(choice.words() if choice else [])]
    words += ["--notify", notify, "--notify-on", when] if notify else []
    words += ["--db", common.db if "://" in common.db else absolute(common.db)] if common.db else []
    job = nightly.job.present_job([*words, "--quiet"])
    if common.json:
        print_json(nightly.schedule.schedule_json(job))
    else:
        echo(nightly.schedule.schedule_text(job))
    return EXIT_OK


def absolute(path: str) -> str:
    return str(paths.expanded(path).absolute())
