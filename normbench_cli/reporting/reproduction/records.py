"""The verdict as numbers for other programs: one mapping per cell and per claim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from normbench_cli.registry.spec import format_value
from normbench_cli.reporting.claims import Judgement
from normbench_cli.reporting.reproduction.cells import Measured
from normbench_cli.reporting.reproduction.compare import Comparison
from normbench_cli.reporting.reproduction.run_times import RunTimes, mean_time
from normbench_cli.suites import Cell, Claim, Published, Scale, Suite
from normbench_cli.suites.scales import length_of, paper_config

Row = tuple[Cell, Measured, Comparison]


def records_of(suite: Suite, rows: Sequence[Row], scale: Scale, times: RunTimes) -> Iterator[dict[str, Any]]:
    for cell, measured, comparison in rows:
        published = cell.published or Published()
        length = length_of(scale.config(suite, cell, suite.seeds[0]), paper_config(cell, suite.seeds[0]))
        yield {
            "suite": suite.name,
            "row": cell.row,
            "column": cell.column,
            "metric": cell.metric,
            "scale": scale.name,
            "schedule": "" if cell.is_of_data else str(length),
            "fraction": None if cell.is_of_data else length.fraction,
            "unit": published.unit or cell.unit,
            "published": published.value,
            "published_sd": published.sd,
            "published_n": published.n,
            "kind": published.kind,
            "note": published.note,
            "ours": measured.mean,
            "sd": measured.sd,
            "n": measured.n,
            "diverged": measured.diverged,
            "difference": comparison.difference,
            "in_sd": comparison.in_sd,
            "faithful": bool(measured.n) and not measured.deviations,
            "deviations": "; ".join(measured.deviations),
            "seconds": mean_time(times, measured.runs),
            "runs": " ".join(measured.runs),
        }


def claim_records(judged: Sequence[tuple[Claim, Judgement]], scale: Scale) -> Iterator[dict[str, Any]]:
    for claim, found in judged:
        estimate = found.estimate or (None, None, None)
        yield {
            "suite": " ".join(claim.suites),
            "metric": claim.metric,
            "scale": scale.name,
            "published_text": claim.printed.value if claim.printed else "",
            "bounds": ", ".join(f"{name} {format_value(value)}" for name, value in claim.bounds.items()),
            "claim": claim.text,
            "place": claim.place,
            "verdict": found.verdict,
            **dict(zip(("estimate", "low", "high"), estimate, strict=True)),
            "test": found.test,
            "n": found.n,
        }
