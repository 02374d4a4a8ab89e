"""Planning a bisection: commits and a measurement, from the command line or the last night's regression."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from normbench_cli.errors import UsageError
from normbench_cli.nightly.bisect.git import Checkout, Commit
from normbench_cli.nightly.bisect.run import Bisected, Bisection
from normbench_cli.nightly.bisect.worker import Request, Worker
from normbench_cli.nightly.last_night import finding_of, measurement_names, nearest, newest_verdict, suite_name
from normbench_cli.nightly.measurements import measurement
from normbench_cli.nightly.series import Finding, Measurement
from normbench_cli.nightly.suite import find_suite
from normbench_cli.nightly.verdict import Judged, Verdict
from normbench_cli.store import Store

GIVE_ENDS = "give the commits with --good and --bad"


@dataclass(frozen=True)
class BisectPlan:
    """parents: the commits after the good one up to the bad one, ancestors first, each with its parents."""

    checkout: Checkout
    good: Commit
    bad: Commit
    parents: Mapping[str, Sequence[str]]
    measurement: Measurement
    request: Request


def plan_bisect(
    store: Store | None,
    suite: str,
    name: str | None = None,
    *,
    good: str | None = None,
    bad: str | None = None,
    repo: Path = Path(),
) -> BisectPlan:
    """Decide what to measure, between which commits.

    store: where nights are recorded; None if there is no database.  name: the measurement; by default the one that
    regressed in the last night.  good, bad: by default the revisions between which the last night places the change.
    """
    verdict = None if store is None else newest_verdict(store, suite_name(suite))
    judged = regressed(verdict) if name is None else finding_of(verdict, name) if verdict else None
    known = measurement_names(store, suite_name(suite)) if store and not judged else []
    about = judged.finding.measurement if judged else measurement_called(name or "", known)
    good, bad = revisions(judged.finding if judged else None, good, bad)
    checkout = Checkout.at(repo)
    ends = checkout.commit(good), checkout.commit(bad)
    request = Request(str(find_suite(suite).absolute()), about.cell, about.metric)
    return BisectPlan(checkout, *ends, checkout.between(*ends), about, request)


def regressed(verdict: Verdict | None) -> Judged:
    """The only regression of the last night."""
    found = verdict.of("regression") if verdict else []
    if len(found) != 1:
        names = ", ".join(f"'{one.name}'" for one in found)
        what = (
            f"the last night found {len(found)} regressions: {names}" if found else "the last night found no regression"
        )
        raise UsageError(what if verdict else "no night of this suite is recorded", "name a measurement")
    return found[0]


def measurement_called(name: str, known: Sequence[str]) -> Measurement:
    """A measurement that the last night does not have.  Only measuring shows whether the suite has its cell."""
    about = measurement(*name.rpartition(" ")[::2])
    if about is None or (known and name not in known):
        do = nearest(name, known) if known else "write a cell and a metric: 'mlp/popnorm test/accuracy'"
        raise UsageError(f"there is no measurement '{name}'", do)
    return about


def revisions(finding: Finding | None, good: str | None, bad: str | None) -> tuple[str, str]:
    """The two ends: as given, or the revisions between which the last night places the change."""
    good, bad = good or (finding.before if finding else ""), bad or (finding.after if finding else "")
    if not good or not bad:
        raise UsageError("it is not known between which commits it changed", GIVE_ENDS)
    if good == bad:
        raise UsageError(f"the code was the same, {good[:10]}, before and after the change", GIVE_ENDS)
    return good, bad


def run_bisect(plan: BisectPlan, report: Callable[[str], object] = lambda _: None) -> Bisected:
    """Run the bisection; its processes and folders are removed, however it ends."""
    with tempfile.TemporaryDirectory(prefix="normbench-bisect-", ignore_cleanup_errors=True) as folder:
        exact = plan.measurement.exact

        def open_worker(commit: str) -> Worker:
            known = plan.checkout.commit(commit)
            return Worker(plan.checkout, known, plan.request, Path(folder), warm_up=not exact)

        return Bisection(plan.parents, plan.good.hash, open_worker, exact=exact, report=report).run()
