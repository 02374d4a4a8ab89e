"""The page over all nights: their outcomes with links to their pages, and the most important trends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from normbench_cli.nightly.pages.night import rank
from normbench_cli.nightly.pages.tables import SHORT, day_cell
from normbench_cli.nightly.pages.trends import ReadNight, histories, trend_figure
from normbench_cli.nightly.verdict import Judged, Verdict, size
from normbench_cli.nightly.verdict_line import verdict_line
from normbench_cli.reporting.document import Cell, Document, Figure, Paragraph, Table, Tone

COLUMNS = ("day", "suite", "verdict", "measured", "regressions", "improved", "muted", "missing", "minutes", "commit")
TONES: dict[str, Tone] = {"regression": "bad", "fine": "good", "incomplete": "doubtful", "nothing measured": "doubtful"}
TRENDS = 6  # per suite
SOONER = {"regression": 0, "improvement": 1, "withdrawn": 2, "suspected": 3}


def index_document(nights: Sequence[ReadNight], pages: Mapping[str, str], head: Mapping[str, str]) -> Document:
    """nights: of all suites, oldest first.  pages: night id -> file beside the index."""
    blocks: list[Table | Figure | Paragraph] = [nights_table(nights, pages)]
    by_suite = sorted(nights, key=lambda night: night.summary.suite)
    for suite, own in groupby(by_suite, key=lambda night: night.summary.suite):
        blocks += suite_trends(suite, list(own))
    return Document("Nightly benchmark", dict(head), blocks, lead=lead(nights))


def lead(nights: Sequence[ReadNight]) -> str:
    """The last verdict of each suite."""
    last = {night.summary.suite: night.verdict for night in nights if night.verdict}
    return "; ".join(verdict_line(verdict) for verdict in last.values()) or "No night has ended yet"


def nights_table(nights: Sequence[ReadNight], pages: Mapping[str, str]) -> Table:
    rows = [night_row(night, pages.get(night.summary.id, "")) for night in reversed(nights)]
    notes = ["The date of a night leads to its page.  Missing: cells that failed, or were left out for the budget."]
    return Table("All nights", COLUMNS, rows, notes, keys=2)


def night_row(night: ReadNight, page: str) -> list[Cell]:
    summary, verdict = night.summary, night.verdict
    minutes = (summary.finished_at - summary.started_at).total_seconds() / 60 if summary.finished_at else None
    return [
        day_cell(summary.day, page),
        Cell(summary.suite),
        outcome_cell(night),
        *(count_cell(count, tone) for count, tone in counts(verdict)),
        Cell("-" if minutes is None else f"{minutes:.1f}", minutes),
        Cell(summary.revision[:SHORT] or "-"),
    ]


def outcome_cell(night: ReadNight) -> Cell:
    if night.verdict is None:
        text = ": ".join(filter(None, [night.summary.status, night.summary.message]))
        return Cell(text, tone="" if night.summary.status == "running" else "doubtful")
    return Cell(night.verdict.outcome, tone=TONES[night.verdict.outcome])


def counts(verdict: Verdict | None) -> Iterator[tuple[int | None, Tone]]:
    """The numbers of a row, each with its tone if it is not zero."""
    if verdict is None:
        for _ in range(5):
            yield None, ""
        return
    yield len(verdict.judged), ""
    yield verdict.counts["regression"], "bad"
    yield verdict.counts["improvement"], "good"
    yield len(verdict.muted), ""
    yield len(verdict.failed) + len(verdict.left_out), "doubtful"


def count_cell(count: int | None, tone: Tone) -> Cell:
    return Cell("-" if count is None else str(count), count, tone=tone if count else "")


def suite_trends(suite: str, nights: Sequence[ReadNight]) -> list[Paragraph | Figure]:
    """The trends of a suite's most important measurements: what changed in the last night, then times."""
    last = next((night.verdict for night in reversed(nights) if night.verdict), None)
    if last is None:
        return []
    found = {name: history for name, history in histories(nights).items() if len(history) > 1}
    chosen = sorted((one for one in last.judged if one.name in found), key=importance)
    figures = [trend_figure(found[one.name], "") for one in chosen[:TRENDS]]
    return [Paragraph(f"Trends of {suite}, the most important first:"), *figures] if figures else []


def importance(one: Judged) -> tuple[int, int, float]:
    """Sort key: changed ones first, then by kind of measurement, then larger changes first."""
    status = SOONER.get(one.finding.status, len(SOONER)) if one.muted is None else len(SOONER)
    return status, rank(one), -size(one.finding.change)
