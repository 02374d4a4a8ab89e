"""normbench train: one run or a grid of runs, recorded while they are trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from normbench_cli import interrupts, store
from normbench_cli.axes.assignments import read_assignments
from normbench_cli.axes.experiment import Experiment, make_experiment
from normbench_cli.axes.experiment_file import read_experiment
from normbench_cli.axes.saving import save_experiment
from normbench_cli.axes.values import SEVERAL
from normbench_cli.cli import _options
from normbench_cli.cli._executors import executor_options
from normbench_cli.cli._options import Common, Settings, common_options, config_options
from normbench_cli.cli._output import echo, hint, print_json
from normbench_cli.cli._tables import print_dry_runs, print_results
from normbench_cli.config import FIELDS, GRID_FIELDS, RunConfig
from normbench_cli.errors import EXIT_INCOMPLETE, EXIT_OK, NormbenchError, UsageError
from normbench_cli.experiments.distributed.rank import Rank, check_executor, launched_rank
from normbench_cli.experiments.executors.choice import Choice
from normbench_cli.experiments.plan import Cell, plan_grid
from normbench_cli.registry.trust import allow_packages

if TYPE_CHECKING:
    from normbench_cli.experiments.result import RunResult

PANELS = {
    "What to train": (*GRID_FIELDS, "recipe"),
    "Duration": ("epochs", "iterations", "folds"),
    "Optimization": ("batch_size", "lr", "momentum", "weight_decay", "schedule", "seed"),
    "Device and speed": (
        *("device", "amp", "tf32", "compile", "compile_mode", "channels_last"),
        *("cudnn_benchmark", "deterministic", "workers", "nproc", "sync_norm"),
    ),
    "Labels": ("tag", "note"),
}
OTHER_FIELDS = [name for name in FIELDS if not any(name in names for names in PANELS.values())]
RUNS = "Runs"


@config_options(PANELS, several=tuple(SEVERAL))
@executor_options()
@common_options
def train(
    experiment: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help="Experiment file (.toml); options override its settings."),
    ] = None,
    *,
    settings: Settings,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help=f"Set any other setting: {', '.join(OTHER_FIELDS)} (may be repeated; see docs/experiments.md).",
            rich_help_panel="Optimization",
        ),
    ] = None,
    zip_: Annotated[
        list[str] | None,
        typer.Option(
            "--zip",
            metavar="NAME,NAME",
            help="Vary these settings together instead of crossing them: lr,batch_size (may be repeated).",
            rich_help_panel=RUNS,
        ),
    ] = None,
    save: Annotated[
        str | None,
        typer.Option(
            "--save",
            metavar="FILE",
            help="Save these settings as an experiment file instead of training.",
            rich_help_panel=RUNS,
        ),
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option("--resume", metavar="RUN", help="Continue an interrupted or failed run.", rich_help_panel=RUNS),
    ] = None,
    force: _options.OtherData = False,
    allow: _options.Allow = None,
    rerun: Annotated[
        bool, typer.Option("--rerun", help="Train finished cells of a grid again.", rich_help_panel=RUNS)
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print the configurations, their norm layers and an estimate of the cost, without training.",
            rich_help_panel=RUNS,
        ),
    ] = False,
    choice: Choice | None,
    common: Common,
) -> int:
    """Train one run or a grid of runs, and record them.

    Several values of a setting (a repeated option, a comma-separated list, or a range such as 1.1..1.9/5 or
    log:0.01..1/7) make a grid.  Cells of a grid that have finished before are skipped; a single run is always trained.

    Examples:
      normbench train --norm augnorm:phi=1.1..1.9/5 --act sigmoid
      normbench train --norm popnorm,batchnorm --lr log:0.01..1/7 --dry-run
    """
    allow_packages(allow or [])
    rank = launched_rank(next(iter(settings.get("nproc", [])), None))
    if resume is not None:
        others = [experiment] if experiment else []
        others += [f"--{name.replace('_', '-')}" for name in settings]
        others += [f"--set {pair}" for pair in set_ or []] + ["--dry-run"] * dry_run + ["--rerun"] * rerun
        others += [f"--executor {choice.executor}"] if choice else []
        others += [f"--zip {names}" for names in zip_ or []] + [f"--save {save}"] * bool(save)
        if others:
            raise UsageError(
                f"--resume continues a run with the run's own configuration, but {others[0]} is given",
                "drop the file" if others[0] == experiment else "drop that option",
            )
        return on_rank_zero(rank, partial(resume_run, resume, common, force=force))
    if force:
        raise UsageError("--force is for --resume", "name the run to continue by --resume, or drop --force")
    started = {"nproc": rank.size} if rank else {}
    asked = make_experiment(assigned(set_ or []) | settings | started, zip_ or ())
    if experiment is not None:
        asked = read_experiment(experiment).overridden(asked)
    configs = asked.configs()
    check_executor((config.nproc for config in configs), choice.executor if choice else None)
    if save is not None:
        return on_rank_zero(rank, partial(save_as, asked, len(configs), save, common))
    if dry_run:
        return on_rank_zero(rank, partial(estimate, configs, asked.axes, common))
    return on_rank_zero(rank, partial(train_grid, configs, asked.axes, choice, common, rerun=rerun))


def on_rank_zero(rank: Rank | None, work: Callable[[], int]) -> int:
    """Run `work` here or, under torchrun, on rank 0 while the other ranks join the training."""
    if rank is None:
        return work()
    from normbench_cli.experiments.distributed.rank_zero import joined

    with joined(rank) as is_first:
        return work() if is_first else EXIT_OK


def train_grid(
    configs: Sequence[RunConfig], axes: Sequence[str], choice: Choice | None, common: Common, *, rerun: bool
) -> int:
    """Train the cells that are due, and print how they ended."""
    cells = plan_grid(configs, common.db, rerun=rerun)
    results = train_cells(cells, axes, choice, common)
    if common.json:
        print_json({"runs": [result.to_json() for result in results]})
    else:
        if results:
            print_results(results, axes)
        if len(cells) > 1:
            echo(counted(results, len(cells)))
        if results:
            hint("compare with `normbench report`", common.quiet)
    check_losses(results)
    return exit_code(results, len(cells))


def counted(results: Sequence[RunResult], cells: int) -> str:
    """How many cells were trained here, meanwhile by other processes, and before."""
    others, skipped = sum(result.elsewhere for result in results), cells - len(results)
    line = f"{len(results) - others} new, {skipped} already finished" + " (--rerun trains them again)" * bool(skipped)
    return f"{line}, {others} by other processes" if others else line


def assigned(pairs: Sequence[str]) -> dict[str, Any]:
    """The settings of `--set`, each with all its values."""
    found: dict[str, Any] = {}
    for name, value in read_assignments("--set", pairs):
        found.setdefault(name, []).append(value)
    return found


def save_as(asked: Experiment, cells: int, file: str, common: Common) -> int:
    path = save_experiment(asked, file)
    if common.json:
        print_json({"file": path, "cells": cells})
    else:
        echo(f"written: {path}, {cells} {'run' if cells == 1 else 'runs'}")
        hint(f"train with `normbench train {file}`", common.quiet)
    return EXIT_OK


def train_cells(cells: Sequence[Cell], axes: Sequence[str], choice: Choice | None, common: Common) -> list[RunResult]:
    """Train the cells of a grid that are due."""
    due = [cell.config for cell in cells if cell.due]
    if not due:
        return []
    from normbench_cli.cli._progress import grid_progress
    from normbench_cli.experiments.grid import checked, run_grid

    with checked(cells, choice) as executor, interrupts.raised(), grid_progress(due, axes, choice, common) as on_event:
        return run_grid(cells, common.db, on_event, choice, executor)


def check_losses(results: Sequence[RunResult]) -> None:
    """Raise an error for measurements that could be shown but not written anywhere."""
    if lost := [result.lost for result in results if result.lost]:
        raise NormbenchError("; ".join(lost), "keep what was printed, or train again")


def exit_code(results: Sequence[RunResult], cells: int) -> int:
    failed = [result for result in results if result.status == "failed"]
    if failed and len(failed) == cells:
        raise NormbenchError(
            f"all {len(failed)} runs failed, the first with: {failed[0].message}", "see `normbench runs list`"
        )
    return EXIT_INCOMPLETE if failed else EXIT_OK


def resume_run(run: str, common: Common, *, force: bool) -> int:
    """Continue a run that ended early, and print how it ended."""
    from normbench_cli.cli._progress import training_progress
    from normbench_cli.experiments import train as use_case

    with (
        store.Store.open(common.db, create=False) as opened,
        interrupts.raised(),
        training_progress(1, quiet=common.quiet) as on_event,
    ):
        result = use_case.resume_run(run, opened, on_event, force=force)
    if common.json:
        print_json({"runs": [result.to_json()]})
    else:
        print_results([result])
    check_losses([result])
    return EXIT_OK


def estimate(configs: Sequence[RunConfig], axes: Sequence[str], common: Common) -> int:
    """Print each configuration and its estimated cost."""
    from normbench_cli.experiments.dry_run import dry_run

    dry_runs = dry_run(configs)
    if common.json:
        print_json({"runs": [one.to_json() for one in dry_runs]})
    else:
        print_dry_runs(dry_runs, axes)
    return EXIT_OK
