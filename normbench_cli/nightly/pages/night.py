"""The page of one night: the verdict, what changed and what to do about it, all measurements, trends, environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from normbench_cli.nightly.history import NightSummary
from normbench_cli.nightly.pages import tables
from normbench_cli.nightly.pages.commands import next_steps
from normbench_cli.nightly.pages.trends import History, ReadNight, histories, trend_figure
from normbench_cli.nightly.series import Status
from normbench_cli.nightly.verdict import Judged, Verdict
from normbench_cli.nightly.verdict_line import plural, verdict_sentence
from normbench_cli.reporting.document import Document, Figure, Paragraph, Table

Block = Table | Figure | Paragraph
KINDS = ("time", "accuracy", "memory", "solver")  # a cell's plot shows the first of these kinds that it has
CHANGED: tuple[Status, ...] = ("regression", "improvement", "withdrawn", "suspected")
PLOTTED = 8  # changed measurements with a plot of their own


def night_document(nights: Sequence[ReadNight], stem: str, head: Mapping[str, str]) -> Document:
    """The page of the last of these nights.  nights: of its suite, oldest first.  stem: of the page's files."""
    night = nights[-1]
    if night.verdict is None:
        raise ValueError(f"night {night.summary.id} has no verdict")
    found = histories(nights)
    blocks = list(blocks_of(night.verdict, nights, found, stem))
    sentence = verdict_sentence(night.verdict)
    return Document(
        title=f"Night of {night.summary.day}, {night.verdict.suite}: {short(night.verdict)}",
        head=facts_of(night.summary, head),
        blocks=blocks,
        lead=f"{sentence[:1].upper()}{sentence[1:]}.",
    )


def short(verdict: Verdict) -> str:
    count = verdict.counts["regression"]
    return plural(count, "regression") if count else verdict.outcome


def facts_of(night: NightSummary, head: Mapping[str, str]) -> dict[str, str]:
    dirty = ", with uncommitted changes" if night.environment.get("git_dirty") else ""
    ended = f" to {night.finished_at:%H:%M:%S}" if night.finished_at else ""
    return {
        "night": night.id,
        "suite": night.suite,
        "measured": f"{night.started_at:%Y-%m-%d %H:%M:%S}{ended} UTC on {night.host}",
        "commit": f"{night.revision}{dirty}" if night.revision else "none: normbench is not in a checkout",
        **head,
    }


def blocks_of(
    verdict: Verdict, nights: Sequence[ReadNight], found: Mapping[str, History], stem: str
) -> Iterator[Block]:
    summary = nights[-1].summary
    yield from changed_blocks(verdict, found, stem)
    if verdict.muted:
        yield tables.muted_table(verdict.muted)
    if begun := verdict.of("new baseline"):
        yield tables.baselines_table(summary, begun, {name: history[:-1] for name, history in found.items()})
    if verdict.failed or verdict.left_out:
        yield tables.missing_table(verdict)
    if verdict.judged:
        yield tables.all_table(verdict.judged, found)
        yield from cell_plots(verdict, found)
    before = nights[-2].summary if len(nights) > 1 else None
    yield tables.environment_table(summary, before)


def changed_blocks(verdict: Verdict, found: Mapping[str, History], stem: str) -> Iterator[Block]:
    """Regressions, improvements, withdrawn regressions and unconfirmed changes, with their plots."""
    regressions, better, withdrawn, doubtful = map(verdict.of, CHANGED)
    if regressions:
        yield tables.changed_table("Regressions", regressions)
        yield from next_steps(verdict.suite_file or verdict.suite, regressions)
    if better:
        yield tables.changed_table("Improvements", better)
    if withdrawn:
        yield tables.changed_table("Withdrawn", withdrawn, ["Reported by earlier nights, not confirmed by later ones."])
    if doubtful:
        yield tables.changed_table(
            "Outside the band, not confirmed", doubtful, ["Nothing is concluded from one measurement."]
        )
    for number, one in enumerate(plotted(verdict), 1):
        yield trend_figure(found[one.name], f"{stem}-{number}")


def plotted(verdict: Verdict) -> list[Judged]:
    """The measurements that have plots of their own."""
    return [one for status in CHANGED for one in verdict.of(status)][:PLOTTED]


def cell_plots(verdict: Verdict, found: Mapping[str, History]) -> list[Figure]:
    """A plot for each cell, of its most telling measurement, if that has several nights and no plot above."""
    by_cell: dict[str, list[Judged]] = {}
    for one in verdict.judged:
        by_cell.setdefault(one.finding.measurement.cell, []).append(one)
    chosen = [min(judged, key=rank) for judged in by_cell.values()]
    above = {one.name for one in plotted(verdict)}
    return [trend_figure(found[one.name], "") for one in chosen if len(found[one.name]) > 1 and one.name not in above]


def rank(one: Judged) -> int:
    kind = one.finding.measurement.kind
    return KINDS.index(kind) if kind in KINDS else len(KINDS)
