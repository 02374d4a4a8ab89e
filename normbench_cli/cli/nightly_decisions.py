"""normbench nightly accept, normbench nightly mute: a person's decisions about measurements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from normbench_cli import nightly, store
from normbench_cli.cli._nightly_options import Suite
from normbench_cli.cli._options import Common, common_options
from normbench_cli.cli._output import echo, hint, print_json, print_table
from normbench_cli.errors import EXIT_OK, UsageError
from normbench_cli.local_time import local_time

if TYPE_CHECKING:
    from normbench_cli.nightly.accept_and_mute import Accepted
    from normbench_cli.nightly.decisions import Decision, DecisionKind

LONGEST = 3650  # days

Measurements = Annotated[
    list[str] | None,
    typer.Argument(metavar="MEASUREMENT", help="Measurements: 'CELL METRIC', in quotes; * matches several."),
]
Reason = Annotated[str, typer.Option("--reason", help="Reason, recorded and shown on the pages.", show_default=False)]
Listed = Annotated[bool, typer.Option("--list", help="List current decisions.")]


@common_options
def accept(
    measurements: Measurements = None,
    everything: Annotated[bool, typer.Option("--all", help="Everything that regressed in the last night.")] = False,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="DAY",
            help="First day of the new baseline.",
            show_default="start of the current level, else the last night",
        ),
    ] = None,
    suite: Suite = "canary",
    reason: Reason = "",
    listed: Listed = False,
    *,
    common: Common,
) -> int:
    """Accept the current level of measurements as their new baseline; earlier nights no longer count.

    Examples:
      normbench nightly accept "mlp/popnorm test/accuracy" --reason "new default"
      normbench nightly accept --all --reason "torch 2.13"
    """
    if listed:
        return list_decisions("accept", suite, common)
    if everything and measurements:
        raise UsageError("measurements are named and --all is given", "drop one of them")
    if not everything and not measurements:
        raise UsageError("no measurement is named", "name measurements, or give --all")
    use_case = nightly.accept_and_mute
    with store.Store.open(common.db, create=False) as opened:
        first = parse_day(since, "--since") if since else None
        made = use_case.accept(opened, nightly.last_night.suite_name(suite), measurements or [], reason, first)
    if common.json:
        print_json({"accepted": [shown(one.decision) | {"status": one.status} for one in made]})
    elif made:
        print_table([accepted_row(one) for one in made])
    else:
        hint("nothing regressed in the last night; nothing was accepted", common.quiet)
    return EXIT_OK


def accepted_row(one: Accepted) -> dict[str, str]:
    known = one.finding is not None and one.finding.change == one.finding.change
    return {
        "measurement": one.decision.measurement,
        "last night": one.status,
        "change": f"{one.finding.change:+.1%}" if one.finding and known else "-",
        "counts from": str(one.decision.until),
    }


@common_options
def mute(
    measurements: Measurements = None,
    until: Annotated[
        str,
        typer.Option(
            "--until",
            metavar="DAY",
            help="When the mute ends: 2026-12-01, 14d; `today` ends it now.",
            show_default=False,
        ),
    ] = "",
    suite: Suite = "canary",
    reason: Reason = "",
    listed: Listed = False,
    *,
    common: Common,
) -> int:
    """Mute measurements until a day: they are still measured and shown, but do not affect the verdict.

    Examples:
      normbench nightly mute "layers/*" --until 14d --reason "driver update"
      normbench nightly mute --list
    """
    if listed:
        return list_decisions("mute", suite, common)
    if not measurements or not until:
        raise UsageError("a mute needs measurements and an end", "name measurements, and a day with --until")
    today = date.today()
    last = parse_day(until, "--until", today)
    with store.Store.open(common.db, create=False) as opened:
        suite = nightly.last_night.suite_name(suite)
        made = nightly.accept_and_mute.mute(opened, suite, measurements, reason, last, today)
    if common.json:
        print_json({"muted": [shown(one) for one in made]})
    for one in made if not common.json else []:
        echo(f"{one.measurement}: " + (f"muted until {one.until}" if one.until > today else "counts again"))
    return EXIT_OK


def parse_day(text: str, option: str, today: date | None = None) -> date:
    """Parse a day: 2026-12-01; if `today` is given, also `14d` (counted from it) and `today`."""
    if today and text == "today":
        return today
    days = re.fullmatch(r"([0-9]{1,4})d", text) if today else None
    if today and days and int(days[1]) <= LONGEST:
        return today + timedelta(days=int(days[1]))
    try:
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    form = "2026-12-01" + (f", 14d (at most {LONGEST}d) or today" if today else "")
    raise UsageError(f"{option} {text} is not a day", f"write {form}")


def list_decisions(kind: DecisionKind, suite: str, common: Common) -> int:
    """Print the decisions of a kind that are in force."""
    with store.Store.open(common.db, write=False) as opened:
        made = nightly.decisions.decisions(opened, nightly.last_night.suite_name(suite))
        damage = opened.damage()
    found = [one for one in nightly.decisions.in_force(made, date.today()) if one.kind == kind]
    if common.json:
        print_json({"decisions": [shown(one) for one in found]})
    elif found:
        print_table(decision_rows(found, "counts from" if kind == "accept" else "muted until"))
    else:
        hint("no baseline is accepted" if kind == "accept" else "nothing is muted", common.quiet)
    for line in damage:
        hint(line)
    return EXIT_OK


def decision_rows(found: Sequence[Decision], day: str) -> list[dict[str, str]]:
    return [
        {
            "measurement": one.measurement,
            day: str(one.until),
            "by": f"{one.author}@{one.host}",
            "on": f"{local_time(one.made_at):%Y-%m-%d %H:%M}",
            "reason": one.reason,
        }
        for one in found
    ]


def shown(decision: Decision) -> dict[str, Any]:
    """A decision as JSON."""
    return vars(decision) | {"until": decision.until.isoformat()}
