"""`normbench profile --solver`: the tables, the plots and the JSON.  Loads torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from normbench_cli import interrupts, paths
from normbench_cli.cli._document import print_document
from normbench_cli.cli._options import Common
from normbench_cli.cli._output import hint, print_json
from normbench_cli.cli._progress import profile_progress
from normbench_cli.errors import EXIT_OK, NormbenchError, UsageError
from normbench_cli.experiments.profiling.solver import CHANNELS, PHIS, VALUES, plan_solver, run_solver
from normbench_cli.reporting import files
from normbench_cli.reporting.profiles.solver import head_of, to_document
from normbench_cli.store import Store

Row = dict[str, Any]


def profile_solver(
    settings: Mapping[str, Any],
    *,
    phi: str | None,
    shapes: list[tuple[int, ...]],
    rounds: int,
    seconds: float,
    form: str | None,
    out: Path,
    common: Common,
) -> int:
    """form, out: the files to write, as for a report."""
    if len(shapes) > 1:
        raise UsageError("--solver takes one --shape", "write the number of values and channels, like 8192x64")
    paths.set_plot_cache()
    formats = files.parse_formats(form if form is not None else "" if common.json else "md")
    shape = shapes[0] if shapes else (VALUES, CHANNELS)
    phis = parse_phis(phi) if phi else PHIS
    plan = plan_solver(phis, settings=settings, shape=shape, rounds=rounds, seconds=seconds)
    with (
        interrupts.raised(),
        Store.open(common.db) as store,
        profile_progress(plan.places, quiet=common.quiet) as shown,
    ):
        outcome = run_solver(plan, store, lambda rows: shown(list(map(line_of, last_rows(rows)))))
    lost = outcome.pop("lost")
    document = to_document(outcome["results"], head_of(outcome["environment"]))
    if common.json:
        print_json(outcome)
    else:
        print_document(document)
    if formats:
        for line in files.write_files(document, out, formats, stem="solver"):
            hint(f"written: {line}", common.quiet)
    if lost:
        raise NormbenchError("; ".join(lost), "keep what was printed, or profile again")
    return EXIT_OK


def parse_phis(text: str) -> list[float]:
    try:
        return list(dict.fromkeys(float(piece) for piece in text.split(",")))
    except ValueError:
        raise UsageError(f"--phi {text} is not a list of numbers", "write 1.2,1.5,3") from None


def last_rows(rows: list[Row]) -> list[Row]:
    """Of each solver the error after the most passes."""
    return list({row["contender"]: row for row in rows if row["metric"] == "solver/error"}.values())


def line_of(row: Row) -> str:
    """normal, phi 1.5, safe: error 2e-08 sd after 3 passes"""
    return (
        f"{row['data']}, phi {row['phi']:g}, {row['contender']}: error {row['largest']:.0e} sd after"
        f" {row['used_max']:.0f} passes"
    )
