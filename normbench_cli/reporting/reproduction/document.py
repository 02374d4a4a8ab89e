"""The verdict as a document: a table for each suite, the curves of figures, and the claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from normbench_cli.reporting.claims import Judgement, judge
from normbench_cli.reporting.claims.frame import claims_frame
from normbench_cli.reporting.claims.judgement import undecided
from normbench_cli.reporting.document import Cell, Document, Figure, Paragraph, Table
from normbench_cli.reporting.head import make_head
from normbench_cli.reporting.reproduction.along import figures_along
from normbench_cli.reporting.reproduction.cells import Measured, measure_cells
from normbench_cli.reporting.reproduction.compare import NO_NUMBER, compare, number
from normbench_cli.reporting.reproduction.figures import make_figures
from normbench_cli.reporting.reproduction.missing_runs import missing_runs, open_records, open_table, recorded_rates
from normbench_cli.reporting.reproduction.protocol import (
    protocol_differences,
    protocol_records,
    protocol_table,
    schedule_text,
)
from normbench_cli.reporting.reproduction.questions import (
    answer_records,
    answers_table,
    ask,
    question_figures,
    verdict_paragraph,
)
from normbench_cli.reporting.reproduction.records import Row, claim_records, records_of
from normbench_cli.reporting.reproduction.run_times import RunTimes, mean_time, run_times
from normbench_cli.reporting.reproduction.wide import is_wide, wide_records, wide_table
from normbench_cli.reporting.run_details import run_details
from normbench_cli.store import Store
from normbench_cli.store.metric_names import cautions
from normbench_cli.store.queries import environment_facts, runs_frame
from normbench_cli.suites import Claim, Place, Published, Scale, Suite
from normbench_cli.suites import claims as all_claims
from normbench_cli.suites.suite import Cell as SuiteCell

SCALES = {
    "full": "the paper's protocol",
    "short": "the paper's grid with a schedule, network or data set that fits the time available",
    "smoke": "stand-ins for data and networks, a few steps: nothing here says anything about the paper",
}
SCALES_OF_A_QUESTION = {
    "full": "the settings of the suite",
    "short": "the suite on a shortened schedule",
    "smoke": "stand-ins for data and networks, a few steps: nothing here answers the question",
}
SCALES_OF_NO_PAPER = {
    "full": "the settings as they are written",
    "short": "a shortened schedule",
    "smoke": "stand-ins for data and networks, a few steps",
}
LONGEST_REMARK = 20  # characters; longer ones go below the table, once each
OTHER_NETWORK = "Where another network or data set stands in for the paper's, there is no difference to its number."
OF_A_PAPER = ("published", "difference", "in sd")  # columns left out for a question: nothing is published
COLUMNS = ("row", "column", "published", "ours", "difference", "in sd", "n", "s/run", "faithful", "remark")
CLAIM_COLUMNS = ("claim", "where", "verdict", "test", "n")


def make_document(
    store: Store,
    suites: Sequence[Suite],
    scale: Scale,
    recorded: Mapping[Place, str],
    missing: Mapping[Place, str],
    *,
    details: bool = False,
) -> Document:
    """missing: why a cell has no run.  details: include each run's details, for a page that shows them."""
    measured = measure_cells(store, suites, scale, recorded)
    rows = {suite.name: list(compared_rows(suite, measured)) for suite in suites}
    judged = judge_claims(store, suites, scale, recorded)
    ids = list(dict.fromkeys(recorded.values()))
    frame = runs_frame(store)
    times = run_times(frame[frame["id"].isin(ids)])
    facts = environment_facts(store, ids or frame["id"].tolist())  # hours may be estimated from other suites' runs
    devices = sorted({str(one["device_name"]) for one in facts if one.get("device_name")})
    blocks: list[Table | Figure | Paragraph] = []
    asked = {suite.name: ask(store, suite, scale, recorded, measured) for suite in suites if suite.question}
    for suite in suites:
        if suite.name in asked:
            blocks.append(verdict_paragraph(asked[suite.name]))
        blocks.append(suite_table(suite, scale, rows[suite.name], missing, times))
        blocks += make_figures(store, suite, scale, recorded)
        blocks += figures_along(suite, scale, measured, schedule_text(suite, scale))
        if suite.name in asked:
            blocks += [answers_table(asked[suite.name]), *question_figures(asked[suite.name], measured)]
    if judged:
        blocks.append(claims_table(judged, scale))
    if differences := protocol_differences(suites, scale):
        blocks.append(protocol_table(differences, scale))
    if found := missing_runs(suites, scale, recorded, times, recorded_rates(frame)):
        blocks.append(open_table(found, devices))
    return Document(
        title="Reproduction: " + ", ".join(suite.name for suite in suites),
        head=make_head(store, frame[frame["id"].isin(ids)]),
        blocks=blocks,
        runs=run_details(store, ids) if details else {},
        records=[
            *(record for suite in suites for record in records_of(suite, rows[suite.name], scale, times)),
            *(one for suite in suites if is_wide(suite) for one in wide_records(suite, rows[suite.name], scale, times)),
            *claim_records(judged, scale),
            *answer_records(list(asked.values()), scale),
            *protocol_records(differences, scale),
            *open_records(found, scale, devices),
            *({"scale": scale.name, "text": text} for text in texts_of(blocks)),
        ],
    )


def texts_of(blocks: Sequence[Table | Figure | Paragraph]) -> list[str]:
    """The paragraphs and notes, each once."""
    texts = [[block.text] if isinstance(block, Paragraph) else block.notes for block in blocks]
    return list(dict.fromkeys(text for part in texts for text in part))


def compared_rows(suite: Suite, measured: Mapping[tuple[str, str, str], Measured]) -> Iterator[Row]:
    for cell in suite.cells:
        found = measured[suite.name, cell.row, cell.column]
        yield cell, found, compare(found, cell.published)


def suite_table(
    suite: Suite, scale: Scale, rows: Sequence[Row], missing: Mapping[Place, str], times: RunTimes
) -> Table:
    place = ", ".join(filter(None, (suite.paper, suite.place)))
    title = f"{suite.name}: {suite.title}" + (f" ({place})" if place else "")
    cells = [cell for cell, _, _ in rows]
    if is_wide(suite):
        return wide_table(suite, title, rows, times, list(notes_of(suite, scale, cells)))
    reasons = dict.fromkeys(reason for cell in cells for reason in reasons_of(suite, scale, cell, missing))
    sentences = [reason for reason in reasons if len(reason) > LONGEST_REMARK]
    remarks = {reason: f"not run ({number})" for number, reason in enumerate(sentences, start=1)}
    others = [OTHER_NETWORK] * any(cell.published and not found.comparable for cell, found, _ in rows)
    shown = [number for number, name in enumerate(COLUMNS) if not (suite.question and name in OF_A_PAPER)]
    found = [
        row_cells(row, [remarks.get(reason, reason) for reason in reasons_of(suite, scale, row[0], missing)], times)
        for row in rows
    ]
    return Table(
        title=title,
        columns=[COLUMNS[number] for number in shown],
        rows=[[cells[number] for number in shown] for cells in found],
        notes=[*notes_of(suite, scale, cells), *others, *(f"{remark}: {reason}" for reason, remark in remarks.items())],
        keys=2,
    )


def reasons_of(suite: Suite, scale: Scale, cell: SuiteCell, missing: Mapping[Place, str]) -> list[str]:
    """Why runs of a cell are missing: a status, or a sentence."""
    places = (Place(suite.name, cell.row, cell.column, seed) for seed in scale.seeds_of(suite))
    return sorted({missing[place] for place in places if missing.get(place)})


def row_cells(row: Row, reasons: Sequence[str], times: RunTimes) -> list[Cell]:
    cell, measured, comparison = row
    published = cell.published
    remarks = [published.kind if published else "", *reasons]
    if measured.diverged:
        remarks.append(f"{measured.diverged} diverged")
    seconds = mean_time(times, measured.runs)
    spread = measured.sd if measured.n > 1 else None
    return [
        Cell(cell.row),
        Cell(cell.column),
        Cell(published_text(published), published.value if published else None),
        Cell(number(measured.mean, spread, cell.unit), measured.mean, runs=measured.runs),
        Cell(number(comparison.difference, unit=cell.unit), comparison.difference),
        Cell(number(comparison.in_sd, unit="sd"), comparison.in_sd),
        Cell(str(measured.n), measured.n),
        Cell(NO_NUMBER if seconds is None else f"{seconds:.1f}", seconds),
        Cell("no: " + ", ".join(measured.deviations) if measured.deviations else "yes" if measured.n else "-"),
        Cell("; ".join(filter(None, remarks))),
    ]


def published_text(published: Published | None) -> str:
    if published is None:
        return "-"
    return "blank" if published.value is None else number(published.value, published.sd, published.unit)


def notes_of(suite: Suite, scale: Scale, cells: Sequence[SuiteCell]) -> Iterator[str]:
    words = SCALES if suite.paper else SCALES_OF_NO_PAPER
    words = SCALES_OF_A_QUESTION if suite.question else words
    yield f"Scale {scale.name}: {words[scale.name]}. {schedule_text(suite, scale)}."
    over = "folds (ddof=0)" if suite.over == "folds" else "seeds (ddof=1)"
    if suite.over == "seeds" and any(cell.sd for cell in cells):
        over = "seeds (ddof=1), of cross-validations over folds (ddof=0)"
    in_sd = "; `in sd` is the difference in units of the pooled sd, if both are known"
    yield f"± is the sd over {over}{'' if suite.question else in_sd}."
    yield from cautions(scale.metric(cell) for cell in cells)
    yield from suite.notes
    notes = dict.fromkeys(cell.published.note for cell in cells if cell.published and cell.published.kind)
    for note in notes:
        kind = next(cell.published.kind for cell in cells if cell.published and cell.published.note == note)
        yield f"{kind}: {note}"


def judge_claims(
    store: Store, suites: Sequence[Suite], scale: Scale, recorded: Mapping[Place, str]
) -> list[tuple[Claim, Judgement]]:
    """Judge the claims that these suites can decide; at scale smoke they are computed but not decided."""
    names = {suite.name for suite in suites}
    claims = [claim for claim in all_claims() if set(claim.suites) <= names]
    if not claims:
        return []
    metrics = sorted({name for claim in claims for name in (claim.metric, claim.other, claim.best_by) if name})
    frame = claims_frame(store, suites, recorded, metrics)
    judged = [(claim, judge(claim, frame[frame["suite"].isin(claim.suites)])) for claim in claims]
    if scale.name == "smoke":
        return [(claim, undecided(f"on stand-ins: {found.test}", found.n)) for claim, found in judged]
    return judged


def claims_table(judged: Sequence[tuple[Claim, Judgement]], scale: Scale) -> Table:
    rows = [
        [
            Cell(claim.text),
            Cell(claim.place),
            Cell(found.verdict, bold=found.verdict != "not enough evidence"),
            Cell(found.test),
            Cell(str(found.n), found.n),
        ]
        for claim, found in judged
    ]
    notes = [f"{claim.text} {claim.remark}" for claim, _ in judged if claim.remark]
    head = (
        f"Computed from recorded runs only. Verdicts apply to the schedules of scale {scale.name}. Values are "
        "fractions, not percentages."
    )
    return Table("Claims", CLAIM_COLUMNS, rows, [head, *notes])
