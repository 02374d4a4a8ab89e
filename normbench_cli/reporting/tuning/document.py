"""A tuning as a document: the test of the chosen settings, the search, two figures, and the records behind them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from normbench_cli.registry.spec import format_value
from normbench_cli.reporting import tables
from normbench_cli.reporting.document import BOLD, Cell, Document, Figure, Paragraph, Table
from normbench_cli.reporting.head import make_head
from normbench_cli.reporting.tuning.figures import figures_of
from normbench_cli.reporting.tuning.findings import Finding, Findings, find
from normbench_cli.reporting.tuning.read import Tuning
from normbench_cli.store import Store
from normbench_cli.store.queries import runs_frame


def make_document(store: Store, tuning: Tuning) -> Document:
    found = find(tuning)
    runs = runs_frame(store)
    own = runs[runs["id"].isin([tuning.id, *tuning.runs])]
    blocks: list[Table | Figure | Paragraph] = [final_table(found), search_table(found), *figures_of(found)]
    records = [record_of(found, row) for row in found.rows]
    return Document(f"normbench tune {tuning.id}", make_head(store, own), blocks, records=records)


def final_table(found: Findings) -> Table:
    """The chosen settings of each contender, and their scores on fresh seeds."""
    tuning = found.tuning
    columns = ["contender", *tuning.space, tables.heading(tuning.metric), tables.heading(tuning.test_metric)]
    rows = [[Cell(row.name), *chosen_cells(found, row), *final_cells(found, row)] for row in found.rows]
    return Table(
        "Chosen settings, on fresh seeds",
        [*columns, "95 % interval", "search sd", "p", "verdict"],
        rows,
        list(final_notes(found)),
    )


def chosen_cells(found: Findings, row: Finding) -> list[Cell]:
    chosen, tuning = row.contender.chosen, found.tuning
    if chosen is None:
        return [*[Cell("by fold" if row.contender.by_fold else "-")] * len(tuning.space), Cell("-")]
    values = {name: value for name, value in chosen.values.items() if not math.isnan(value)}
    settings = [
        Cell(format_value(values[name]), values[name]) if name in values else Cell("-") for name in tuning.space
    ]
    return [*settings, Cell(f"{chosen.score:.2%}".rstrip("%"), chosen.score, runs=(chosen.run,))]


def final_cells(found: Findings, row: Finding) -> list[Cell]:
    test, metric = row.test, found.tuning.test_metric
    lost = f", {row.finals_diverged} diverged" if row.finals_diverged else ""
    if test is None:
        return [Cell(lost.removeprefix(", ") or "-"), *[Cell("-")] * 4]
    runs = tuple(final.run for final in row.contender.finals if math.isfinite(final.value))
    verdict = found.verdict(row.name)
    text = tables.cell(metric, test.mean, test.sd, test.n) + lost
    interval = f"{test.ci95_low * 100:.2f} to {test.ci95_high * 100:.2f}" if test.n > 1 else "-"
    p = found.ranking.p.get(row.name, math.nan)
    return [
        Cell(text, test.mean, bold=verdict == "best", runs=runs),
        Cell(interval),
        Cell(f"{row.search_sd * 100:.2f}", row.search_sd),
        Cell("-" if math.isnan(p) else f"{p:.3f}", None if math.isnan(p) else p),
        Cell(verdict),
    ]


def final_notes(found: Findings) -> Iterator[str]:
    tuning = found.tuning
    yield (
        f"The setting with the best {tuning.metric} of seed {tuning.trial_seed}, trained on the whole training set "
        f"with seeds {', '.join(map(str, tuning.seeds))}; each of these runs scores the test set once, at its end."
    )
    yield (
        "± is the sample standard deviation (sd, ddof=1), the interval is of the mean by t. Search sd: sd of "
        "the chosen setting's true accuracy over validation scores drawn anew. p: t-test of the pairs with equal seed "
        "against the best, with the variance of both searches included, after Holm's correction over all pairs; "
        "tie: p > 0.05."
    )
    if any(one.by_fold for one in tuning.contenders):
        yield (
            "By fold: each fold chose its own setting, by graphs that it held out, and tested it once on its own "
            "graphs, which nothing had seen before; the value of a seed is the mean over the folds."
        )
    yield f"{BOLD} the best mean."
    if tuning.status != "finished":
        yield f"This tuning is {tuning.status}: the same command continues it."


def search_table(found: Findings) -> Table:
    tuning, most = found.tuning, max((len(row.expected) for row in found.rows), default=0)
    shown = sorted({max(1, most // 4), max(1, most // 2), most} - {0})
    unit = " (decades)" if tuning.space[found.setting][2] else ""
    columns = ["contender", "trials", "stopped early", "diverged", "training time", f"robust {found.setting}{unit}"]
    columns += [f"expected best of {count}" for count in shown]
    return Table("The search", columns, [search_row(row, shown) for row in found.rows], list(search_notes(found)))


def search_row(row: Finding, shown: list[int]) -> list[Cell]:
    count = len(row.contender.trials)
    by_count = {point.trials: point for point in row.expected}
    expected = [by_count.get(number) for number in shown]
    return [
        Cell(row.name),
        Cell(str(count), count),
        Cell(str(row.stopped), row.stopped),
        Cell(f"{row.diverged / count:.0%}" if count else "-", row.diverged),
        Cell(f"{row.seconds:.0f} s", row.seconds),
        robust_cell(row),
        *(
            Cell(f"{point.best * 100:.2f} [{point.low * 100:.2f}, {point.high * 100:.2f}]", point.best)
            if point
            else Cell("-")
            for point in expected
        ),
    ]


def robust_cell(row: Finding) -> Cell:
    """1.25 (0.02 to 0.36, 4 trials)"""
    robust = row.robust
    if not robust.trials or math.isnan(robust.width):
        return Cell("-")
    trials = f"{robust.trials} trial{'s' * (robust.trials != 1)}"
    return Cell(f"{robust.width:.2f} ({robust.low:g} to {robust.high:g}, {trials})", robust.width)


def search_notes(found: Findings) -> Iterator[str]:
    tuning = found.tuning
    ranges = ", ".join(f"{name}={'log:' * log}{low:g}..{high:g}" for name, (low, high, log) in tuning.space.items())
    each = f"{tuning.budget['trials']} trials" if tuning.budget["trials"] else f"{tuning.budget['seconds']:g} s"
    yield f"Searched: {ranges}; {each} for each contender, {tuning.sampler}, pruning {tuning.pruner}."
    if tuning.sampler == "quasi-random":
        yield "All contenders tried the same points."
    yield (
        f"Robust {found.setting}: from the least to the largest value among the finished trials within 1 point of the "
        "best; the other settings differ between them."
    )
    yield (
        "Expected best: of so many of the trials, each choice of them equally likely (without replacement), with a "
        "95 % bootstrap interval; a trial that diverged counts as 0, one that was stopped with its last score."
    )


def record_of(found: Findings, row: Finding) -> dict[str, Any]:
    """A contender as one row of numbers, as recorded (accuracy as a fraction)."""
    chosen, test = row.contender.chosen, row.test
    expected = row.expected[-1] if row.expected else None
    return {
        "contender": row.name,
        **{f"chosen_{name}": chosen.values[name] if chosen else None for name in found.tuning.space},
        "validation": chosen.score if chosen else None,
        **{
            f"test_{name}": getattr(test, name) if test else None
            for name in ("mean", "sd", "n", "ci95_low", "ci95_high")
        },
        "search_sd": row.search_sd,
        "p_holm": found.ranking.p.get(row.name),
        "p_t_holm": found.ranking.p_t.get(row.name),
        "p_permutation": found.ranking.p_permutation.get(row.name),
        "verdict": found.verdict(row.name),
        "finals_diverged": row.finals_diverged,
        "trials": len(row.contender.trials),
        "stopped": row.stopped,
        "diverged": row.diverged,
        "seconds": row.seconds,
        "robust_setting": found.setting,
        **{f"robust_{name}": getattr(row.robust, name) for name in ("low", "high", "width", "trials")},
        "expected_best": expected.best if expected else None,
    }


def to_json(tuning: Tuning, document: Document) -> Mapping[str, Any]:
    """``{"tune": id, "contenders": [...]}``: each with its numbers, its trials and its final runs."""
    found = find(tuning)
    contenders = [
        dict(record)
        | {
            "trials": [vars(trial) | {"values": dict(trial.values)} for trial in row.contender.trials],
            "finals": [vars(final) for final in row.contender.finals],
            **({"chosen_by_fold": list(row.contender.by_fold)} if row.contender.by_fold else {}),
            "expected_best": [vars(point) for point in row.expected],
        }
        for record, row in zip(document.records, found.rows, strict=True)
    ]
    asked = {name: list(found) for name, found in tuning.space.items()}
    return {
        "tune": tuning.id,
        "status": tuning.status,
        "metric": tuning.metric,
        "over": asked,
        "contenders": contenders,
    }
