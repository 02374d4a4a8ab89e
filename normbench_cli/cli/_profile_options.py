"""Options of `normbench profile` for what is looked at besides the times: the solver, a trace, an earlier profile."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from normbench_cli.errors import UsageError

SOLVER, MORE = "The solver of the generalized median", "Besides the times"

Solver = Annotated[
    bool,
    typer.Option(
        "--solver",
        help="Measure the error of the solver against passes over the data and time, beside the papers' Newton.",
        rich_help_panel=SOLVER,
    ),
]
Phi = Annotated[
    str | None,
    typer.Option(
        "--phi",
        metavar="PHI,...",
        help="With --solver: for these phi.",
        show_default="1.2,1.5,3",
        rich_help_panel=SOLVER,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT,...",
        help="With --solver: the files to write, with plots: md, latex, html, csv, json, parquet.",
        show_default="md; none with --json",
        rich_help_panel=SOLVER,
    ),
]
Out = Annotated[Path, typer.Option("--out", help="With --solver: folder for the files.", rich_help_panel=SOLVER)]
Trace = Annotated[
    Path | None,
    typer.Option(
        "--trace",
        metavar="FILE",
        help="Write a Chrome trace of one step of each candidate, with the norm layers named.",
        rich_help_panel=MORE,
    ),
]
Compare = Annotated[
    str | None,
    typer.Option(
        "--compare",
        metavar="RUN",
        help="Compare with the earlier profile of this run, by id or the beginning of one.",
        rich_help_panel=MORE,
    ),
]


def check_solver_options(solver: bool, others: Mapping[str, object], own: Mapping[str, object]) -> None:
    """others: options given that --solver has no use for; own: options given that only --solver uses."""
    given = [name for name, value in (others if solver else own).items() if value]
    if given and solver:
        raise UsageError(f"--solver measures no layers and models: {given[0]} has no meaning", f"omit {given[0]}")
    if given:
        raise UsageError(f"{given[0]} is an option of --solver", f"add --solver, or omit {given[0]}")
