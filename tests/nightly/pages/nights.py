"""Made-up nights for the tests of pages: three cells, a slowdown from the ninth night on, a new torch on the third."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from math import nan
from typing import Any

from normbench_cli.nightly.history import NightSummary
from normbench_cli.nightly.pages.trends import ReadNight
from normbench_cli.nightly.series import Finding, Measurement, Status
from normbench_cli.nightly.verdict import Judged, Mute, Verdict

FIRST = date(2026, 11, 8)
STEP = Measurement("resnet20/popnorm", "step_time_ms", "time", unit="ms")
ACCURACY = Measurement(
    "resnet20/popnorm", "test/accuracy", "accuracy", higher_is_better=True, exact=True, unit="fraction"
)
LAYER = Measurement("layer/augnorm", "step_time_ms", "time", unit="ms")
SAVED = Measurement("layer/augnorm", "saved_activation_bytes", "memory", unit="bytes")
SOLVER = Measurement("layer/augnorm", "solver/iterations_mean", "solver")
BASE = {STEP: 12.4, ACCURACY: 0.9722, LAYER: 0.8412, SAVED: 7.5 * 2**20, SOLVER: 4.25}
MEASUREMENTS = tuple(BASE)
SLOW, BUMP = 8, 2  # the night from which STEP is slow, and the one with a new torch


def judged(measurement: Measurement, number: int) -> Judged:
    """What the gate would say of the measurement in this night."""
    wobble = 0.0 if measurement.exact or measurement.kind in ("memory", "solver") else 0.01 * ((number * 7) % 5 - 2)
    expected = BASE[measurement]
    value = expected * (1 + wobble)
    status: Status = "fine"
    if measurement is STEP and number >= SLOW:
        value, status = value * 1.123, "regression"
    if measurement is LAYER and number == 11:
        value, status = value * 0.8, "improvement"
    if measurement is SAVED and number >= SLOW:
        value, status = value * 1.5, "regression"
    if number in (0, BUMP):
        status = "new baseline"
    elif number in (1, BUMP + 1):
        status = "too short"
    none = status in ("new baseline", "too short")
    changed = status in ("regression", "improvement")
    finding = Finding(
        measurement,
        status,
        value,
        expected=nan if none else expected,
        low=nan if none else expected * 0.96,
        high=nan if none else expected * 1.04,
        change=nan if none else value / expected - 1,
        since=(FIRST + timedelta(days=11 if measurement is LAYER else SLOW)) if changed else None,
        before=revision(SLOW - 1) if changed else "",
        after=revision(SLOW) if changed else "",
        reason="outside the band, also when measured again" if changed else "",
    )
    again = (value * 1.01, value * 0.99, value) if changed else ()
    muted = (
        Mute(date(2026, 12, 1), "known: the buffer is being rewritten") if measurement is SAVED and changed else None
    )
    return Judged(finding, again, "aaaa" if number < BUMP else "bbbb", muted)


def revision(number: int) -> str:
    return f"{number + 1:x}" * 40


def environment(number: int) -> dict[str, Any]:
    return {
        "normbench": "1.0",
        "git_sha": revision(number),
        "python": "3.12.3",
        "versions": {"torch": "2.12.0" if number < BUMP else "2.13.0", "numpy": "2.3"},
        "device_name": "a CPU",
        "threads": 2,
    }


def night(number: int, **changes: Any) -> ReadNight:
    """The night with this number, from 0."""
    day = FIRST + timedelta(days=number)
    started = datetime(day.year, day.month, day.day, 4, 10, tzinfo=UTC)
    verdict = Verdict(
        "canary",
        f"{number:08x}",
        day,
        tuple(judged(measurement, number) for measurement in MEASUREMENTS),
        revision=revision(number),
        started_at=started,
        finished_at=started + timedelta(minutes=4, seconds=11),
    )
    verdict = replace(verdict, **changes)
    summary = NightSummary(
        verdict.night,
        verdict.suite,
        verdict.day,
        "incomplete" if verdict.failed or verdict.left_out else "finished",
        "",
        revision(number),
        started,
        verdict.finished_at,
        "a-host",
        environment(number),
    )
    return ReadNight(summary, verdict)


def nights(count: int = 12) -> list[ReadNight]:
    return [night(number) for number in range(count)]


def killed(number: int) -> ReadNight:
    """A night whose process disappeared: there is no verdict."""
    return ReadNight(
        replace(night(number).summary, status="killed", message="its process disappeared", finished_at=None), None
    )
