"""A measurement over the nights: its plot with band, marks and changes of level, and its sparkline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import pandas as pd

from normbench_cli.nightly.history import NightSummary
from normbench_cli.nightly.pages.facts import class_names
from normbench_cli.nightly.verdict import Judged, Verdict
from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.plots.sparkline import sparkline

NIGHTS = 90  # latest nights in a plot
SPARKS = 30  # latest nights in a sparkline
REMARKED = ("regression", "improvement", "withdrawn", "suspected")
INTERVAL = "band: what the night was compared with"
History = Sequence[tuple[NightSummary, Judged]]  # of one measurement, oldest first


@dataclass(frozen=True)
class ReadNight:
    """A night with its verdict, if it ended and the verdict can be read."""

    summary: NightSummary
    verdict: Verdict | None


def histories(nights: Sequence[ReadNight]) -> dict[str, list[tuple[NightSummary, Judged]]]:
    """The history of each measurement by its name; nights without a verdict are skipped."""
    found: dict[str, list[tuple[NightSummary, Judged]]] = {}
    for night in nights:
        for one in night.verdict.judged if night.verdict else ():
            found.setdefault(one.name, []).append((night.summary, one))
    return found


def spark(history: History) -> str:
    return sparkline([one.finding.value for _, one in history[-SPARKS:]], width=SPARKS)


def trend_figure(history: History, name: str) -> Figure:
    """The plot of a measurement.  name: the stem of its file."""
    shown = history[-NIGHTS:]
    measurement = shown[-1][1].finding.measurement
    members = {one.environment_class: night for night, one in shown}
    called = class_names(members) if len(members) > 1 else dict.fromkeys(members, measurement.cell)
    options = {
        "metric": measurement.metric,
        "interval": INTERVAL,
        "changes": changes(shown),
        "groups": list(called.values()),
    }
    return Figure(measurement.name, name, "trend", points(shown, called), options)


def points(history: History, called: Mapping[str, str]) -> pd.DataFrame:
    rows = [
        {
            "group": called[one.environment_class],
            "at": moment,
            "mean": one.finding.value,
            "band_low": one.finding.low,
            "band_high": one.finding.high,
            "remark": remark(one),
        }
        for moment, (_, one) in zip(moments([night for night, _ in history]), history, strict=True)
    ]
    return pd.DataFrame(rows)


def remark(one: Judged) -> str:
    status = one.finding.status
    if status not in REMARKED:
        return ""
    return f"{status} (muted)" if one.muted else status


def moments(nights: Sequence[NightSummary]) -> list[pd.Timestamp]:
    """The positions of nights on the axis: the start of their day; several nights of a day are spread over it."""
    count, seen = Counter(night.day for night in nights), Counter[object]()
    placed = []
    for night in nights:
        placed.append(pd.Timestamp(night.day) + pd.Timedelta(days=seen[night.day] / count[night.day]))
        seen[night.day] += 1
    return placed


def changes(history: History) -> list[str]:
    """The first nights of new levels within the plot; of consecutive nights with one status, the last one decides."""
    found = []
    for status, nights in groupby(history, key=lambda pair: pair[1].finding.status):
        since = list(nights)[-1][1].finding.since
        if status in REMARKED and status != "withdrawn" and since and since > history[0][0].day:
            found.append(since.isoformat())
    return list(dict.fromkeys(found))
