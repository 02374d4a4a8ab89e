"""Options that choose where runs are executed, and the decorator that gives them to a command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from normbench_cli.cli._options import CommandFunction, expanded, option
from normbench_cli.experiments.executors.choice import EXECUTORS, PerRun, choose

PANEL = "Execution"
EXECUTOR = typer.Option(
    "--executor",
    metavar="|".join(EXECUTORS),
    help="Run the cells in parallel: in processes on this machine, on a Ray cluster, or as SLURM jobs.",
    show_default="one after another, in this process",
    rich_help_panel=PANEL,
)
EXECUTOR_OF_NIGHT = typer.Option(
    "--executor",
    metavar="|".join(EXECUTORS),
    help="Where to measure, always one cell at a time: on this machine, on a Ray cluster, or as SLURM jobs.",
    show_default="this machine, each cell in its own process",
    rich_help_panel=PANEL,
)
JOBS = typer.Option(
    "--jobs",
    metavar="N",
    help="Maximum number of concurrent runs.",
    show_default="one for each GPU or core",
    rich_help_panel=PANEL,
)
PER_RUN = typer.Option(
    "--per-run",
    metavar="cpus=2,gpus=0.5",
    help=f"Resources of one run: cpus, gpus (0.5: half a GPU), hours (SLURM's time limit, {PerRun().hours:g}).",
    show_default="cpus=1; local: the cores divided among the jobs",
    rich_help_panel=PANEL,
)
ADDRESS = typer.Option(
    "--address",
    metavar="HOST:PORT",
    help="Address of an existing Ray cluster.",
    show_default="RAY_ADDRESS, or a cluster on this machine",
    rich_help_panel=PANEL,
)


def executor_options(*, jobs: bool = True) -> Callable[[CommandFunction], CommandFunction]:
    """Give a command these options; its argument ``choice`` receives the checked `Choice`, or None.

    jobs: whether the command runs several cells at a time.
    """
    options = [
        option("executor", str | None, EXECUTOR if jobs else EXECUTOR_OF_NIGHT, None),
        *([option("jobs", int | None, JOBS, None)] if jobs else []),
        option("per_run", str | None, PER_RUN, None),
        option("address", str | None, ADDRESS, None),
    ]

    def collect(given: dict[str, Any]) -> object:
        return choose(given["executor"], given.get("jobs"), given["per_run"], given["address"])

    return lambda command: expanded(command, "choice", options, collect)
