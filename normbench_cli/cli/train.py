"""normbench train: one run or a grid of runs, recorded as they go."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from normbench_cli.cli import _options
from normbench_cli.config import FIELDS, RunConfig, read_assignments
from normbench_cli.errors import EXIT_INCOMPLETE, EXIT_OK, NormbenchError, UsageError
from normbench_cli.registry import ACTIVATIONS, DATASETS, MODELS, NORMS, OBJECTIVES, Registry
from normbench_cli.runs.grid import AXES, expand, plan_grid, run_grid
from normbench_cli.seeds import parse_seeds


def setting(name: str, *flags: str, several: Registry[Any] | None = None) -> Any:
    """An option that sets the config field of its name, explained by the field's own sentence."""
    sentence = str(FIELDS[name].metadata["help"])
    sentence = sentence[0].upper() + sentence[1:] + (" (several make a grid)." if several else ".")
    complete = (lambda incomplete: [c for c in several.choices() if c.startswith(incomplete)]) if several else None
    default = FIELDS[name].default
    shown = str(default).lower() if default not in (None, "") else False
    return typer.Option(*flags, help=sentence, show_default=shown, autocompletion=complete)


def train(
    norm: Annotated[list[str] | None, setting("norm", several=NORMS)] = None,
    act: Annotated[list[str] | None, setting("act", several=ACTIVATIONS)] = None,
    model: Annotated[list[str] | None, setting("model", several=MODELS)] = None,
    data: Annotated[list[str] | None, setting("data", several=DATASETS)] = None,
    objective: Annotated[list[str] | None, setting("objective", several=OBJECTIVES)] = None,
    recipe: Annotated[str | None, setting("recipe")] = None,
    epochs: Annotated[int | None, setting("epochs")] = None,
    iterations: Annotated[int | None, setting("iterations")] = None,
    batch_size: Annotated[int | None, setting("batch_size")] = None,
    lr: Annotated[float | None, setting("lr")] = None,
    momentum: Annotated[float | None, setting("momentum")] = None,
    folds: Annotated[int | None, setting("folds")] = None,
    weight_decay: Annotated[float | None, setting("weight_decay")] = None,
    schedule: Annotated[str | None, setting("schedule")] = None,
    seed: Annotated[
        list[str] | None,
        typer.Option("--seed", "--seeds", help="Seeds: 3, 0-9 or 1,5,7 (several make a grid).", show_default="0"),
    ] = None,
    device: Annotated[str | None, setting("device")] = None,
    amp: Annotated[str | None, setting("amp")] = None,
    compile: Annotated[bool | None, setting("compile", "--compile/--no-compile")] = None,
    channels_last: Annotated[bool | None, setting("channels_last", "--channels-last/--no-channels-last")] = None,
    workers: Annotated[int | None, setting("workers")] = None,
    tag: Annotated[str | None, setting("tag")] = None,
    note: Annotated[str | None, setting("note")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set any other field of the configuration.")
    ] = None,
    resume: Annotated[
        str | None, typer.Option("--resume", metavar="RUN", help="Go on with a run that ended early.")
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what would be trained and what it would take; train and record nothing."),
    ] = False,
    rerun: Annotated[bool, typer.Option("--rerun", help="Run the cells of a grid that are finished, too.")] = False,
    db: _options.Database = None,
    json: _options.Json = False,
    debug: _options.Debug = False,
    quiet: _options.Quiet = False,
) -> int:
    """Train one run, or a grid of runs, and record them.

    Several values of --norm, --act, --model, --data, --objective or --seeds (repeated, or with commas) make a grid;
    its finished cells are skipped.  A single run always runs.
    """
    given = {
        name: value
        for name, value in locals().items()
        if name in FIELDS and value is not None and name not in (*AXES, "seed")
    }
    axes = dict(zip(AXES, (norm, act, model, data, objective), strict=True))
    if resume is not None:
        others = [
            *given,
            *(name for name, values in axes.items() if values),
            *(["seed"] if seed else []),
            *(set_ or []),
            *(["dry_run"] if dry_run else []),
        ]
        if others:
            raise UsageError(
                f"--resume goes on with the run's own configuration, and {others[0]} is given too", "leave it away"
            )
        return go_on(resume, db, json=json, quiet=quiet)
    configs = expand(dict(read_assignments("--set", set_ or [])) | given, axes, parse_seeds(seed or []))
    if dry_run:
        return foretell(configs, json=json)
    return run(configs, db, rerun=rerun, json=json, quiet=quiet)


def run(configs: list[RunConfig], db: str | None, *, rerun: bool, json: bool, quiet: bool) -> int:
    """Check every cell, run those that have no result yet, show how they ended."""
    from normbench_cli.cli._output import hint, print_json
    from normbench_cli.cli._progress import Watcher, stoppable
    from normbench_cli.cli._tables import show

    cells = plan_grid(configs, db, rerun=rerun)
    wanted = [cell for cell in cells if cell.due]
    skipped = len(cells) - len(wanted)
    with stoppable(), Watcher(len(wanted), quiet=quiet) as watcher:
        outcomes = run_grid(cells, db, watcher)
    if json:
        print_json({"runs": [outcome.to_json() for outcome in outcomes]})
    else:
        show(outcomes)
        if len(cells) > 1:
            print(f"{len(wanted)} new, {skipped} already finished" + (" (--rerun runs them again)" if skipped else ""))
        if outcomes:
            hint("compare with `normbench report`", quiet)
    failed = [outcome for outcome in outcomes if outcome.status == "failed"]
    if failed and len(failed) == len(cells):
        raise NormbenchError(
            f"all {len(failed)} runs failed, the first with: {failed[0].message}", "see `normbench runs list`"
        )
    return EXIT_INCOMPLETE if failed else EXIT_OK


def go_on(run: str, db: str | None, *, json: bool, quiet: bool) -> int:
    """Resume a run and show how it ended."""
    from normbench_cli.cli._output import print_json
    from normbench_cli.cli._progress import Watcher, stoppable
    from normbench_cli.cli._tables import show
    from normbench_cli.runs.train import resume_run
    from normbench_cli.store import Store

    with Store.open(db, create=False) as store, stoppable(), Watcher(1, quiet=quiet) as watcher:
        outcome = resume_run(run, store, watcher)
    if json:
        print_json({"runs": [outcome.to_json()]})
    else:
        show([outcome])
    return EXIT_OK


def foretell(configs: list[RunConfig], *, json: bool) -> int:
    """Say of every cell what it is, which norm layers it has and where, how many steps it takes and about how long."""
    from normbench_cli.cli._output import print_json
    from normbench_cli.cli._tables import show_dry_runs
    from normbench_cli.runs.dry_run import dry_run

    outlines = dry_run(configs)
    if json:
        print_json({"runs": [one.to_json() for one in outlines]})
    else:
        show_dry_runs(outlines)
    return EXIT_OK
