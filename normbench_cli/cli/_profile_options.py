"""Options of `normbench profile` for data from a run, solver starts, model steps, and sweeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from normbench_cli.cli import _options
from normbench_cli.cli._options import CommandFunction, expanded, option
from normbench_cli.errors import UsageError

LAYERS, MODEL, FROM, SWEEP, FILES = "Layers", "What to measure", "Inputs from a run", "Sweep", "Files"
ALLOW = "Trust this package: recorded runs may load its components, now and later (see `list allowed`)."


@dataclass(frozen=True)
class WorkOptions:
    """Inputs of the layers, starts of the solvers, the steps of a model to time, the sweep."""

    start: str = "warm"
    step: str = "train"
    from_run: str = ""
    layer: str = ""
    force: bool = False
    allow: list[str] = field(default_factory=list)
    sweep: str = ""
    form: str | None = None
    out: Path = _options.REPORTS

    def check(self, *, only: str | None, names_shapes: bool, settings: dict[str, object]) -> None:
        """Reject contradictory options."""
        if self.from_run and (names_shapes or self.sweep):
            raise UsageError(
                "--from-run gives the shapes that the run's layers see", "drop --shape and the like, --sweep"
            )
        if self.from_run and only not in (None, "layers"):
            raise UsageError(f"--from-run gives layers their values, and --only is {only}", "drop one of them")
        if self.from_run and (own := [name for name in ("model", "data", "act", "batch_size") if name in settings]):
            raise UsageError(f"--from-run already sets {' and '.join(own)}", "drop these options")
        if self.layer and not self.from_run:
            raise UsageError("--layer names a layer of a run", "give --from-run RUN")
        if self.form and not self.sweep:
            raise UsageError(
                "--format writes the table and plots of a sweep", "give --sweep, or see `normbench report`"
            )


def declared_option(flag: str, metavar: str | None, sentence: str, panel: str) -> Any:
    return typer.Option(flag, metavar=metavar, help=sentence, rich_help_panel=panel)


OPTIONS = [
    option(
        "start",
        str,
        declared_option(
            "--start", "warm,cold", "How solvers start: warm (from the previous batch) or cold (from scratch).", LAYERS
        ),
        "warm",
    ),
    option(
        "step",
        str,
        declared_option(
            "--step",
            "train,eval",
            "Steps to time: train (forward, backward, optimizer), eval (forward without gradients).",
            MODEL,
        ),
        "train",
    ),
    option(
        "from_run",
        str,
        declared_option(
            "--from-run", "RUN[@BATCH]", "Time layers on the inputs that the norms of a trained network see.", FROM
        ),
        "",
    ),
    option(
        "layer",
        str,
        declared_option("--layer", "NAME", "Use this layer's inputs for its shape instead of the first layer's.", FROM),
        "",
    ),
    option(
        "force",
        bool,
        declared_option("--force", None, "Use the data set even if it differs from the run's.", FROM),
        False,
    ),
    option("allow", list[str] | None, declared_option("--allow", "PACKAGE", ALLOW, FROM), None),
    option(
        "sweep",
        str,
        declared_option(
            "--sweep",
            "NAME=A/B/C",
            "Repeat the comparison over batch-size, width or size: batch-size=8/16/.../512.",
            SWEEP,
        ),
        "",
    ),
    option(
        "form",
        str | None,
        declared_option(
            "--format", "FORMAT,...", "Files to write for --sweep or --solver, with plots: md, html, ...", FILES
        ),
        None,
    ),
    option("out", Path, declared_option("--out", "FOLDER", "Output folder.", FILES), _options.REPORTS),
]


def work_options(command: CommandFunction) -> CommandFunction:
    """Give a command these options; its argument ``work`` receives them."""
    return expanded(command, "work", OPTIONS, lambda given: WorkOptions(**{**given, "allow": given["allow"] or []}))
