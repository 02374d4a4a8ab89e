"""The tables of a night's page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from normbench_cli.nightly.history import NightSummary
from normbench_cli.nightly.numbers import band_text, change_text, value_text, values_text
from normbench_cli.nightly.pages.facts import baseline_reason, flat
from normbench_cli.nightly.pages.trends import History, spark
from normbench_cli.nightly.verdict import Judged, Verdict
from normbench_cli.reporting.document import Cell, Table, Tone

CHANGED_COLUMNS = ("measurement", "value", "band", "change", "since", "between commits", "measured again", "why")
ALL_COLUMNS = ("cell", "metric", "status", "value", "band", "change", "last nights")
TONES: dict[str, Tone] = {"regression": "bad", "improvement": "good", "suspected": "doubtful", "withdrawn": "good"}
FEW_NAMES = 6  # measurements that a row names individually
SHORT = 9  # characters of a commit


def changed_table(title: str, judged: Sequence[Judged], notes: Sequence[str] = ()) -> Table:
    """What changed: since when, between which commits, against which band, and how that was confirmed."""
    rows = [changed_row(one) for one in judged]
    wanted = [index for index in range(len(CHANGED_COLUMNS)) if any(row[index].text not in ("", "-") for row in rows)]
    columns = [CHANGED_COLUMNS[index] for index in wanted]
    return Table(title, columns, [[row[index] for index in wanted] for row in rows], notes)


def changed_row(one: Judged) -> list[Cell]:
    finding = one.finding
    return [
        Cell(one.name, bold=True),
        Cell(value_text(finding.measurement, finding.value, exact=finding.measurement.exact), finding.value),
        Cell(band_text(finding)),
        Cell(change_text(finding), finding.change, tone=TONES.get(finding.status, "")),
        day_cell(finding.since),
        Cell(commits_text(finding.before, finding.after)),
        Cell(values_text(finding.measurement, one.again) if one.again else "-"),
        Cell(finding.reason),
    ]


def day_cell(day: date | None, link: str = "") -> Cell:
    """A date that sorts as one and does not wrap."""
    return Cell(day.isoformat(), day.toordinal(), link=link) if day else Cell("-")


def commits_text(before: str, after: str) -> str:
    if before and before == after:
        return f"the same commit, {after[:SHORT]}"
    return f"{before[:SHORT]}..{after[:SHORT]}" if before and after else "-"


def muted_table(judged: Sequence[Judged]) -> Table:
    columns = ("measurement", "status", "value", "band", "change", "muted until", "reason")
    rows = [
        [
            Cell(one.name),
            Cell(one.finding.status),
            Cell(value_text(one.finding.measurement, one.finding.value), one.finding.value),
            Cell(band_text(one.finding)),
            Cell(change_text(one.finding), one.finding.change),
            day_cell(one.muted.until if one.muted else None),
            Cell(one.muted.reason if one.muted else ""),
        ]
        for one in judged
    ]
    return Table("Muted", columns, rows)


def baselines_table(night: NightSummary, judged: Sequence[Judged], earlier: Mapping[str, History]) -> Table:
    """The measurements with a new baseline, by reason."""
    reasons: dict[str, list[str]] = {}
    for one in judged:
        reasons.setdefault(baseline_reason(night, one, earlier.get(one.name, ())), []).append(one.name)
    rows = [[Cell(why), Cell(str(len(names)), len(names)), Cell(listed(names))] for why, names in reasons.items()]
    notes = ["These are compared with nothing until there are enough nights."]
    return Table("New baselines", ("why", "measurements", "which"), rows, notes)


def listed(names: Sequence[str]) -> str:
    more = f", and {len(names) - FEW_NAMES} more" if len(names) > FEW_NAMES else ""
    return ", ".join(names[:FEW_NAMES]) + more


def missing_table(verdict: Verdict) -> Table:
    """The cells without a result."""
    failed = [[Cell(cell), Cell("failed", tone="bad"), Cell(why)] for cell, why in verdict.failed.items()]
    left_out = [[Cell(cell), Cell("left out", tone="doubtful"), Cell(why)] for cell, why in verdict.left_out.items()]
    notes = ["What was left out for the budget is the first to be measured in the next night."] if left_out else []
    return Table("Cells without a result", ("cell", "status", "why"), [*failed, *left_out], notes)


def all_table(judged: Sequence[Judged], found: Mapping[str, History]) -> Table:
    rows = [all_row(one, found.get(one.name, ())) for one in judged]
    notes = ["Change: to what was expected.  Last nights: each night's value between the lowest and the highest."]
    return Table("All measurements", ALL_COLUMNS, rows, notes, keys=2)


def all_row(one: Judged, history: History) -> list[Cell]:
    finding = one.finding
    status = f"{finding.status}, muted" if one.muted else finding.status
    return [
        Cell(finding.measurement.cell),
        Cell(finding.measurement.metric),
        Cell(status, tone="" if one.muted else TONES.get(finding.status, "")),
        Cell(value_text(finding.measurement, finding.value), finding.value),
        Cell(band_text(finding)),
        Cell(change_text(finding), finding.change),
        Cell(spark(history)),
    ]


def environment_table(night: NightSummary, before: NightSummary | None) -> Table:
    """The facts of the night; those that changed since the night before are bold."""
    old, new = flat(before.environment) if before else {}, flat(night.environment)
    rows = []
    for name, value in new.items():
        changed = before is not None and old.get(name) != value
        was = [Cell(old.get(name, "-"), bold=changed)] if before else []
        rows.append([Cell(name), Cell(value, bold=changed), *was])
    columns = ["fact", "this night", *([f"night of {before.day}"] if before else [])]
    return Table("Environment", columns, rows)
