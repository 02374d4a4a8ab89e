"""A verdict in a sentence."""

from __future__ import annotations

import math

from normbench_cli.nightly.gate.policy import FEWEST_NIGHTS, REMEASUREMENTS
from normbench_cli.nightly.gate.verdict import Verdict
from normbench_cli.nightly.series import Point, Series


def reason(series: Series, verdict: Verdict, start: int | None) -> str:
    """The reason for the verdict.  start: the index of the first night of the present level."""
    last = series.points[-1]
    if verdict.status == "new baseline":
        return "the first night of this environment and baseline"
    if verdict.status == "too short":
        return f"{_nights(len(series.points) - 1)} before this one; {FEWEST_NIGHTS} are needed"
    if verdict.status == "suspected":
        return _suspected(last, exact=series.measurement.exact)
    if verdict.status == "fine":
        return f"outside at first, but not when measured {_times(last)} more" if verdict.refuted else ""
    if verdict.status == "withdrawn":
        since = "" if start is None else f"; it was reported since {series.points[start].day}"
        return f"withdrawn: not confirmed on {last.day}{since}"
    if verdict.status == "improvement":
        return _improved(last, verdict)
    return _regressed(series, verdict, start)


def _suspected(last: Point, *, exact: bool) -> str:
    if not last.again:
        return "outside of its band, and not measured again"
    needed = "" if exact else f"; at most {REMEASUREMENTS} settle it"
    return f"outside of its band; measured {_times(last)} more, which leaves it open{needed}"


def _improved(last: Point, verdict: Verdict) -> str:
    if verdict.back:
        return "back to normal: the regression is gone"
    return f"confirmed by {_evidence(last)}; later nights are compared with the new level"


def _regressed(series: Series, verdict: Verdict, start: int | None) -> str:
    last = series.points[-1]
    if verdict.nonreproducible:
        return "the same night measured different values: it no longer repeats to the last digit"
    if verdict.creep:
        text = f"no single step: it drifted by {abs(verdict.creep):.4g} since {series.points[0].day}"
        return text + ("; reported until it is accepted" if verdict.known else "")
    if verdict.known and start is not None:
        here = "; tonight differs, unconfirmed" if verdict.unsure else ""
        partly = "partly better tonight, but still a regression; " if verdict.changed else ""
        return f"{partly}known since {series.points[start].day}: reported until it is accepted or gone{here}"
    value = "" if math.isfinite(last.value) else "not a number; "
    return f"{value}confirmed by {_evidence(last)}"


def _evidence(last: Point) -> str:
    if not last.again:
        return "the nights before"
    return f"measuring {_times(last)} more that night"


def _times(last: Point) -> str:
    return "once" if len(last.again) == 1 else f"{len(last.again)} times"


def _nights(count: int) -> str:
    return "1 night" if count == 1 else f"{count} nights"
