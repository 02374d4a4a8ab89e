"""A whole night: measure its cells within the budget, judge them, measure suspects again, and report."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from normbench_cli import paths
from normbench_cli.device import pick_device
from normbench_cli.experiments.environment import environment
from normbench_cli.interrupts import Interrupted, ignored
from normbench_cli.nightly import gate
from normbench_cli.nightly.budget import Budget, least_recent_first
from normbench_cli.nightly.cell import NightlyCell, NightlySuite
from normbench_cli.nightly.cell_process import CellFailed, Measure, OutOfTime, measure_in_process
from normbench_cli.nightly.conclusion import try_pages
from normbench_cli.nightly.decisions import decisions, is_muted
from normbench_cli.nightly.history import last_measured, read_series
from normbench_cli.nightly.judging import FEWEST, affordable, controls, judged_again, next_round, suspects
from normbench_cli.nightly.lock import night_lock
from normbench_cli.nightly.log import NAME
from normbench_cli.nightly.night import Night, open_night
from normbench_cli.nightly.series import Series
from normbench_cli.nightly.suite import own_file
from normbench_cli.nightly.verdict import Judged, Mute, Verdict
from normbench_cli.nightly.verdict_json import verdict_json
from normbench_cli.nightly.verdict_line import verdict_line
from normbench_cli.store import Store
from normbench_cli.store.nights import end_night, nights, stop_night
from normbench_cli.store.rows import now as this_moment

logger = logging.getLogger(NAME)
NEVER = (None, None)  # when a cell was measured last, and the seconds that it took
# Re-measuring may take AGAIN_SECONDS, or AGAIN_SHARE of the time of the night's cells if that is longer.
AGAIN_SECONDS = 120.0
AGAIN_SHARE = 0.8
NO_TIME = "no time was left within the budget"


@dataclass(frozen=True)
class NightResult:
    """The verdict of a night, its pages, and what went wrong with them."""

    verdict: Verdict
    pages: Sequence[Path]
    problems: Sequence[str] = ()


def run_night(
    suite: NightlySuite,
    db: str | None = None,
    *,
    out: Path = Path("reports"),
    budget: float | None = None,
    today: Callable[[], datetime] = datetime.now,
    measure: Measure = measure_in_process,
) -> NightResult:
    """Measure, judge and report one night of a suite.  Raises `Locked` while another process does.

    budget: seconds.  today: returns the local time, which sets the night's day.  measure: measures a cell.
    """
    with night_lock(suite.name, today()), Store.open(db) as store:
        paths.ensure_writable(out, "--out")  # before the night's work, not after
        facts = environment(pick_device(str(suite.cells[0].settings.get("device", "auto"))))
        night = open_night(store, suite, today().date(), facts)
        logger.info(
            "night %s of %s: %d cells, %d measured", night.id, suite.name, len(suite.cells), len(night.measured)
        )
        try:
            found = work(night, Budget(budget), db, measure)
        except KeyboardInterrupt:
            with ignored():
                stop_night(store, night.id, "interrupted")
            raise Interrupted("interrupted; the same command continues the night today") from None
        return finish(night, found, out)


def work(night: Night, budget: Budget, db: str | None, measure: Measure) -> list[Judged]:
    """Measure what fits, and again what the gate suspects; return the findings."""
    last = last_measured(night.store, night.suite.name)
    due = [cell for cell in night.suite.cells if cell.name not in night.measured]
    for cell in least_recent_first(due, {name: when for name, (when, _) in last.items()}):
        measure_once(night, cell, budget, last.get(cell.name, NEVER)[1], db, measure)
    series = read_series(night.store, night.suite.name)
    muted = mutes(night, series)
    checked = repeat_suspects(night, series, muted, budget, db, measure)
    series = read_series(night.store, night.suite.name)
    return [replace(one, muted=muted.get(one.name)) for one in judged_again(night.suite, series, checked)]


def repeat_suspects(
    night: Night, series: Sequence[Series], muted: Mapping[str, Mute], budget: Budget, db: str | None, measure: Measure
) -> list[str]:
    """Measure suspects again, in rounds, the first ones with some controls, until the gate has decided or time is up;
    return the controls."""
    seconds = {cell: took for cell, (_, took) in last_measured(night.store, night.suite.name).items()}
    suspected = suspects(night.suite, series, muted)
    if not suspected:
        return []
    checked = controls(night.suite, suspected, night.measured)
    left = max(AGAIN_SECONDS, AGAIN_SHARE * sum(seconds[name] for name in night.measured))
    left -= FEWEST * sum(seconds[name] for name in checked)
    left = max(left, gate.TYPICAL_REPETITIONS * seconds[suspected[0]])  # the farthest is always measured again
    repeated: Counter[str] = Counter()
    for repeat in range(1, night.suite.remeasurements + 1):
        chosen = affordable(suspected, repeated, seconds, left)
        if not chosen:
            break
        logger.info("measured again (%d): %s", repeat, ", ".join(chosen))
        cells = next_round(night.suite, {*chosen, *(checked if repeat <= FEWEST else ())}, repeat)
        done = [measure_again(night, cell, repeat, budget, seconds[cell.name], db, measure) for cell in cells]
        if not any(done):
            break
        repeated.update(chosen)
        left -= sum(seconds[name] for name in chosen)
        suspected = suspects(night.suite, read_series(night.store, night.suite.name), muted)
    return checked


def measure_once(
    night: Night, cell: NightlyCell, budget: Budget, expected: float | None, db: str | None, measure: Measure
) -> None:
    """Measure a cell if it fits; otherwise, or if it fails, record the reason."""
    if not budget.fits(expected):
        night.left_out[cell.name] = NO_TIME
        return
    limit = budget.limit(expected)
    try:
        done = measure(cell, db, night.suite.source, limit, night.beat)
    except OutOfTime as error:
        cut = budget.left_for_cells <= 0  # the budget ended, not the cell's own limit
        (night.left_out if cut else night.failed)[cell.name] = str(error)
    except CellFailed as error:
        night.failed[cell.name] = str(error)
    else:
        night.record(cell, done)
        logger.info("%s: %d values in %.1f s", cell.name, len(done.values), done.seconds)
        return
    logger.warning("%s: %s", cell.name, night.failed.get(cell.name) or night.left_out[cell.name])


def measure_again(
    night: Night, cell: NightlyCell, repeat: int, budget: Budget, expected: float, db: str | None, measure: Measure
) -> bool:
    """Measure a cell once more, if there is time.  What cannot be measured again is not confirmed."""
    if budget.left <= expected:
        return False
    try:
        done = measure(cell, db, night.suite.source, budget.limit(expected, again=True), night.beat)
    except CellFailed as error:
        logger.warning("%s, measured again: %s", cell.name, error)
        return False
    night.record(cell, done, repeat)
    return True


def mutes(night: Night, series: Sequence[Series]) -> dict[str, Mute]:
    """The mutes in force, by name of the measurement."""
    made = decisions(night.store, night.suite.name)
    found = {one.measurement.name: is_muted(one.measurement, made, night.day) for one in series}
    return {name: mute for name, mute in found.items() if mute}


def finish(night: Night, found: Sequence[Judged], out: Path) -> NightResult:
    """Record the verdict, and write the pages."""
    started = next((row.started_at for row in nights(night.store, night.suite.name) if row.id == night.id), None)
    verdict = Verdict(
        suite=night.suite.name,
        night=night.id,
        day=night.day,
        judged=tuple(found),
        failed=night.failed,
        left_out=night.left_out,
        revision=str(night.environment.get("git_sha") or ""),
        started_at=started,
        finished_at=this_moment(),
        suite_file=own_file(night.suite),
    )
    status = "incomplete" if night.failed or night.left_out else "finished"
    end_night(night.store, night.id, status, verdict=verdict_json(verdict))
    pages, problems = try_pages(night.store, night.id, out)
    logger.info(verdict_line(verdict, pages[0] if pages else None))
    return NightResult(verdict, pages, problems)
