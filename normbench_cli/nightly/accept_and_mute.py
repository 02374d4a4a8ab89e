"""Accepting new baselines and muting measurements: which ones are selected, and what is recorded about each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from normbench_cli.errors import UsageError
from normbench_cli.nightly.decisions import Decision, record_decision
from normbench_cli.nightly.last_night import finding_of, last_verdict, matching, measurement_names
from normbench_cli.nightly.series import Finding
from normbench_cli.nightly.verdict import Verdict
from normbench_cli.store import Store


@dataclass(frozen=True)
class Accepted:
    """An accepted baseline, and the last night's finding; None if that night did not measure it."""

    decision: Decision
    finding: Finding | None

    @property
    def status(self) -> str:
        return self.finding.status if self.finding else "not measured"


def accept(store: Store, suite: str, asked: Sequence[str], reason: str, since: date | None = None) -> list[Accepted]:
    """Accept the present level of measurements as their new baseline.

    asked: names or patterns; empty selects all that regressed in the last night.  since: the first day that counts; by
    default the day on which the present level began, or the last night's if no change is known.
    """
    check_reason(reason)
    verdict = last_verdict(store, suite)
    if since and since > verdict.day:
        raise UsageError(f"--since {since} is after the last night, {verdict.day}", "give an earlier day")
    names = matching(asked, measurement_names(store, suite)) if asked else regressed(verdict)
    made = [accepted(verdict, name, reason, since) for name in names]
    if made:
        record_decision(store, *(one.decision for one in made))
    return made


def accepted(verdict: Verdict, name: str, reason: str, since: date | None) -> Accepted:
    judged = finding_of(verdict, name)
    finding = judged.finding if judged else None
    day = since or (finding.since if finding else None) or verdict.day
    return Accepted(Decision("accept", verdict.suite, name, day, reason), finding)


def regressed(verdict: Verdict) -> list[str]:
    """The measurements that --all accepts: regressions, muted ones too."""
    return [one.name for one in verdict.judged if one.finding.status == "regression"]


def mute(store: Store, suite: str, asked: Sequence[str], reason: str, until: date, today: date) -> list[Decision]:
    """Mute these measurements until a day; today ends their mutes."""
    check_reason(reason)
    if until < today:
        raise UsageError(f"--until {until} is over", "give a later day, or `today` to end a mute")
    names = matching(asked, measurement_names(store, suite))
    made = [Decision("mute", suite, name, until, reason) for name in names]
    record_decision(store, *made)
    return made


def check_reason(reason: str) -> None:
    if not reason.strip():
        raise UsageError("a decision needs a reason", "say why with --reason TEXT")
