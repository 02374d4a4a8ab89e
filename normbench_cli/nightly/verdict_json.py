"""A verdict as JSON: printed by ``--json``, passed to ``--notify`` on stdin, and stored with the night.

The keys are documented in ``docs/nightly.md``.  They are stable: keys may be added; `format` counts changes of the old.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import date, datetime
from pathlib import Path
from typing import Any, get_args

from normbench_cli.nightly.measurements import is_rough
from normbench_cli.nightly.series import Finding, Measurement, Status
from normbench_cli.nightly.verdict import Judged, Mute, Verdict
from normbench_cli.nightly.verdict_line import verdict_line
from normbench_cli.store.errors import DamagedValue

FORMAT = 1
NUMBERS = ("value", "expected", "low", "high", "change")
TEXTS = ("before", "after", "reason")
STATUSES: tuple[Status, ...] = get_args(Status)


def verdict_json(verdict: Verdict, pages: Sequence[Path] = ()) -> dict[str, Any]:
    """The verdict as JSON types; unknown values are null or an empty string.  pages: the files written for it."""
    return {
        "format": FORMAT,
        "suite": verdict.suite,
        "suite_file": verdict.suite_file,
        "night": verdict.night,
        "day": verdict.day.isoformat(),
        "outcome": verdict.outcome,
        "exit_code": verdict.exit_code,
        "line": verdict_line(verdict, pages[0] if pages else None),
        "message": verdict.message,
        "revision": verdict.revision,
        "started_at": moment_text(verdict.started_at),
        "finished_at": moment_text(verdict.finished_at),
        "counts": {"measurements": len(verdict.judged), "muted": len(verdict.muted)}
        | {status: verdict.counts[status] for status in STATUSES}
        | {"failed": len(verdict.failed), "left out": len(verdict.left_out)},
        "findings": [finding_json(one) for one in verdict.judged],
        "failed": dict(verdict.failed),
        "left_out": dict(verdict.left_out),
        "pages": [str(page.absolute()) for page in pages],
    }


def finding_json(one: Judged) -> dict[str, Any]:
    finding = one.finding
    return {
        "name": one.name,
        **asdict(finding.measurement),
        "status": finding.status,
        **{name: number(getattr(finding, name)) for name in NUMBERS},
        "since": finding.since.isoformat() if finding.since else None,
        **{name: getattr(finding, name) for name in TEXTS},
        "known": finding.known,
        "again": [number(value) for value in one.again],
        "environment_class": one.environment_class,
        "muted": {"until": one.muted.until.isoformat(), "reason": one.muted.reason} if one.muted else None,
    }


def number(value: float) -> float | None:
    """NaN and infinities become null, as JSON has none."""
    return float(value) if math.isfinite(value) else None


def moment_text(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds") if moment else None


def read_verdict(document: Mapping[str, Any]) -> Verdict:
    """Read a stored verdict.  Raises `DamagedValue` if it is none: a database may be somebody else's."""
    try:
        return Verdict(
            suite=text(document["suite"]),
            night=text(document["night"]),
            day=date.fromisoformat(document["day"]),
            judged=tuple(read_findings(document["findings"])),
            failed=texts(document["failed"]),
            left_out=texts(document["left_out"]),
            revision=text(document["revision"]),
            started_at=read_moment(document["started_at"]),
            finished_at=read_moment(document["finished_at"]),
            message=text(document["message"]),
            suite_file=text(document["suite_file"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedValue(f"is not the verdict of a night: {type(error).__name__}: {error}") from error


def read_findings(listed: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    for one in listed:
        measurement = Measurement(
            cell=text(one["cell"]),
            metric=text(one["metric"]),
            kind=one["kind"],
            higher_is_better=bool(one["higher_is_better"]),
            exact=bool(one["exact"]),
            unit=text(one["unit"]),
            rough=is_rough(text(one["metric"])),
        )
        if one["status"] not in STATUSES:
            raise ValueError(f"{one['status']!r:.60} is not a status")
        fields: dict[str, Any] = {name: read_number(one[name]) for name in NUMBERS}
        fields |= {name: text(one[name]) for name in TEXTS} | {"known": bool(one["known"])}
        since = date.fromisoformat(one["since"]) if one["since"] else None
        finding = Finding(measurement, one["status"], since=since, **fields)
        muted = one["muted"] and Mute(date.fromisoformat(one["muted"]["until"]), text(one["muted"]["reason"]))
        yield Judged(finding, tuple(map(read_number, one["again"])), text(one["environment_class"]), muted or None)


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} is not text")
    return value


def texts(value: Mapping[str, Any]) -> dict[str, str]:
    return {text(name): text(reason) for name, reason in value.items()}


def read_number(value: Any) -> float:
    return math.nan if value is None else float(value)


def read_moment(value: str | None) -> datetime | None:
    return datetime.fromisoformat(value) if value else None
