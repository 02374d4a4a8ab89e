"""Options of `normbench profile` besides those on timing: the solver, a trace, an earlier profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import typer

from normbench_cli.cli._options import CommandFunction, expanded, option
from normbench_cli.errors import UsageError

SOLVER, MORE = "Median solver", "Trace and comparison"


@dataclass(frozen=True)
class MoreOptions:
    """solver: measure the solver of the generalized median, with each phi, instead of layers and models.  trace: the
    file of a trace; compare: a run of an earlier profile."""

    solver: bool = False
    phi: str = ""
    trace: Path | None = None
    compare: str = ""

    def check(self, *, sweep: str, others: Mapping[str, object]) -> None:
        """Reject contradictory options.  others: those that --solver does not use, with whether they are given."""
        unused = {**others, "--sweep": sweep, "--trace": self.trace, "--compare": self.compare}
        if self.solver and (given := [name for name, value in unused.items() if value]):
            raise UsageError(f"--solver measures no layers and models: {given[0]} has no meaning", f"omit {given[0]}")
        if self.phi and not self.solver:
            raise UsageError("--phi is an option of --solver", "add --solver, or name norms: --norm augnorm:phi=1.2")
        if sweep and (self.trace or self.compare):
            name = "--trace" if self.trace else "--compare"
            raise UsageError(f"--sweep makes many profiles, and {name} is for one", f"omit {name}, or --sweep")


OPTIONS = [
    option(
        "solver",
        bool,
        typer.Option(
            "--solver",
            help="Measure the solver's error against passes over the data and time, next to the papers' Newton "
            "iteration.",
            rich_help_panel=SOLVER,
        ),
        False,
    ),
    option(
        "phi",
        str,
        typer.Option(
            "--phi",
            metavar="PHI,...",
            help="Values of phi for --solver.",
            show_default="1.2,1.5,3",
            rich_help_panel=SOLVER,
        ),
        "",
    ),
    option(
        "trace",
        Path | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            help="Write a Chrome trace of one step of each candidate, with named norm layers.",
            rich_help_panel=MORE,
        ),
        None,
    ),
    option(
        "compare",
        str,
        typer.Option(
            "--compare",
            metavar="RUN",
            help="Compare with the profile that this run belongs to (id or unique prefix).",
            rich_help_panel=MORE,
        ),
        "",
    ),
]


def more_options(command: CommandFunction) -> CommandFunction:
    """Give a command these options; its argument ``more`` receives them."""
    return expanded(command, "more", OPTIONS, lambda given: MoreOptions(**given))
