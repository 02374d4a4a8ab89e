"""normbench nightly bisect: find the commit that changed a measurement."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from normbench_cli import interrupts, nightly, store
from normbench_cli.cli import _options
from normbench_cli.cli._nightly_options import Suite
from normbench_cli.cli._options import Common, common_options
from normbench_cli.cli._output import echo, hint, print_json, print_table
from normbench_cli.errors import EXIT_INCOMPLETE, EXIT_NOTHING_MEASURED, EXIT_OK
from normbench_cli.registry.trust import allow_packages
from normbench_cli.store.errors import NoDatabase

if TYPE_CHECKING:
    from normbench_cli.nightly.bisect.plan import BisectPlan
    from normbench_cli.nightly.bisect.run import Bisected, Judged


@common_options
def bisect(
    measurement: Annotated[
        str | None,
        typer.Argument(help="Measurement to bisect: 'CELL METRIC', in quotes.", show_default="last night's regression"),
    ] = None,
    good: Annotated[
        str | None,
        typer.Option("--good", metavar="REV", help="A commit before the change.", show_default="from the last night"),
    ] = None,
    bad: Annotated[
        str | None,
        typer.Option("--bad", metavar="REV", help="A commit after the change.", show_default="from the last night"),
    ] = None,
    repo: Annotated[
        Path, typer.Option("--repo", metavar="DIR", help="Git checkout of normbench, or of your own package.")
    ] = Path(),
    suite: Suite = "canary",
    allow: _options.Allow = None,
    *,
    common: Common,
) -> int:
    """Find the first commit that changed a measurement, by measuring commits against each other.

    Good and bad are measured alternately until their difference is certain; every commit in between is measured against
    both.  Each commit runs in its own process on a copy of its files; your checkout and database do not change.  Exit
    code 4: good and bad do not differ; 5: several candidates remain because some commits could not be measured.

    Examples:
      normbench nightly bisect
      normbench nightly bisect "step/popnorm time_vs_batchnorm@resnet20" --good v1.2 --bad HEAD
    """
    use_case = nightly.bisect
    allow_packages(allow or [])
    with interrupts.raised():
        try:
            with store.Store.open(common.db, write=False, sweep=False) as opened:
                plan = use_case.plan_bisect(opened, suite, measurement, good=good, bad=bad, repo=repo)
        except NoDatabase:
            plan = use_case.plan_bisect(None, suite, measurement, good=good, bad=bad, repo=repo)
        hint(f"{plan.measurement.name}: {len(plan.parents)} commits after {plan.good.short}", common.quiet)
        found = use_case.run_bisect(plan, lambda line: hint(line, common.quiet))
    if common.json:
        print_json(bisect_json(plan, found))
    else:
        print_bisected(plan, found)
    return exit_code(found)


def exit_code(found: Bisected) -> int:
    if not found.differs:
        return EXIT_NOTHING_MEASURED
    return EXIT_OK if len(found.first) == 1 and found.confirmed else EXIT_INCOMPLETE


def print_bisected(plan: BisectPlan, found: Bisected) -> None:
    """Print the measured commits in the order of the history, and the first changed one."""
    places = {commit: place for place, commit in enumerate([plan.good.hash, *plan.parents])}
    print_table([row_of(plan, one) for one in sorted(found.judged, key=lambda one: places[one.commit])])
    echo("")
    for line in conclusion(plan, found):
        echo(line)


def row_of(plan: BisectPlan, one: Judged) -> dict[str, str]:
    commit = plan.checkout.commit(one.commit)
    return {
        "commit": commit.short,
        "date": commit.date,
        "is": one.level if one.level != "skip" else "left out",
        "median": f"{one.median:.6g}" if one.values else "-",
        "n": str(len(one.values)),
        "subject": commit.subject,
        **({"why": one.reason} if one.reason else {}),
    }


def conclusion(plan: BisectPlan, found: Bisected) -> list[str]:
    """The outcome, in sentences."""
    ratio = found.ratio
    times = f"{ratio.median:.4g} [{ratio.low:.4g}, {ratio.high:.4g}] times {ratio.reference[:10]}"
    if not found.differs:
        return [f"It is not certain that the ends differ: {plan.bad.short} measures {times}."]
    if len(found.first) > 1:
        names = ", ".join(commit[:10] for commit in found.first)
        return [f"The first changed commit is one of {names}; the others could not be told apart."]
    first = plan.checkout.commit(found.first[0])
    lines = [f"{first.hash} is the first changed commit", f"{first.author}, {first.date}: {first.subject}"]
    if found.confirmed:
        return [*lines, f"{plan.measurement.name}: {times}"]
    return [*lines, "Measured in turns with its parent, it shows no certain difference."]


def bisect_json(plan: BisectPlan, found: Bisected) -> dict[str, Any]:
    """The outcome as JSON: `first` has one commit, or those that could not be told apart."""
    return {
        "measurement": plan.measurement.name,
        "repo": plan.checkout.top,
        "good": vars(plan.good),
        "bad": vars(plan.bad),
        "differs": found.differs,
        "first": [vars(plan.checkout.commit(commit)) for commit in found.first],
        "confirmed": found.confirmed,
        "ratio": vars(found.ratio),
        "measured": [vars(one) | {"median": one.median} for one in found.judged],
    }
