"""normbench tune: an equal budget of tuning for every contender, then the chosen settings on fresh seeds."""

from __future__ import annotations

import math
import re
from typing import Annotated

import typer

from normbench_cli import cli
from normbench_cli.axes.experiment import make_experiment
from normbench_cli.cli import _options
from normbench_cli.cli._options import Common, Settings, common_options, config_options
from normbench_cli.config import GRID_FIELDS, read_assignments
from normbench_cli.errors import UsageError
from normbench_cli.experiments.tuning.request import (
    MOST_TRIALS,
    PRUNERS,
    SAMPLERS,
    Budget,
    Pruner,
    Sampler,
    TuneRequest,
)
from normbench_cli.experiments.tuning.space import USUAL, Space, parse_space
from normbench_cli.registry.spec import read_value
from normbench_cli.registry.trust import allow_packages
from normbench_cli.seeds import parse_seeds

PANELS = {
    "Who is tuned": (*GRID_FIELDS, "recipe"),
    "How long": ("epochs", "iterations"),
    "How it learns": ("batch_size", "lr", "momentum", "weight_decay", "schedule"),
    "Device and speed": ("device", "amp", "compile", "channels_last", "workers"),
    "Labels": ("tag",),
}
SEARCH, FINAL, WHICH = "The search", "The final runs", "Which runs"
SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600}


@config_options(PANELS, several=GRID_FIELDS)
@common_options
def tune(
    settings: Settings,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Set another field of the configuration (may be repeated).",
            rich_help_panel="How it learns",
        ),
    ] = None,
    tuning: Annotated[
        str | None, typer.Argument(metavar="TUNING", help="A recorded tuning, by its id: to continue or to report.")
    ] = None,
    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over",
            metavar="KEY=RANGE",
            help="Search this setting in this range, like lr=log:0.001..1 or momentum=0..0.9 (may be repeated).",
            show_default=" ".join(USUAL),
            rich_help_panel=SEARCH,
        ),
    ] = None,
    budget: Annotated[
        str,
        typer.Option(
            "--budget",
            metavar="N|TIME",
            help="What every contender may use: trials, or time of training steps like 10min.",
            rich_help_panel=SEARCH,
        ),
    ] = "12",
    sampler: Annotated[
        str, typer.Option("--sampler", help=f"How values are chosen: {', '.join(SAMPLERS)}.", rich_help_panel=SEARCH)
    ] = "quasi-random",
    pruner: Annotated[
        str,
        typer.Option("--pruner", help=f"Stop bad trials early: {', '.join(PRUNERS)}.", rich_help_panel=SEARCH),
    ] = "none",
    metric: Annotated[
        str, typer.Option("--metric", "-m", help="The accuracy that decides.", rich_help_panel=SEARCH)
    ] = "validation/accuracy",
    validation: Annotated[
        float,
        typer.Option(
            "--validation",
            help="Fraction of the training set that trials hold out, where the data have no validation set.",
            rich_help_panel=SEARCH,
        ),
    ] = 0.2,
    trial_seed: Annotated[
        int, typer.Option("--trial-seed", help="The seed of all trials.", rich_help_panel=SEARCH)
    ] = 1000,
    seeds: Annotated[
        list[str] | None,
        typer.Option(
            "--seeds",
            "--seed",
            metavar="SEEDS",
            help="Seeds of the final runs: 3, 0-9 or 1,5,7.",
            show_default="0-4",
            rich_help_panel=FINAL,
        ),
    ] = None,
    report: Annotated[
        bool,
        typer.Option("--report", help="Train nothing; report a tuning, by default the newest.", rich_help_panel=WHICH),
    ] = False,
    allow: _options.Allow = None,
    form: _options.Format = None,
    out: _options.Out = _options.REPORTS,
    *,
    common: Common,
) -> int:
    """Tune every contender with an equal budget, and test the chosen settings on fresh seeds.

    Trials hold out a validation set and never score the test set; each final run scores it once.  What is recorded is
    not trained again, so the same command continues a tuning that was interrupted.

    Examples:
      normbench tune --norm batchnorm,popnorm --act sigmoid --model mlp --budget 12
      normbench tune --report --format md,html
    """
    allow_packages(allow or [])
    given = [f"--{name.replace('_', '-')}" for name in settings] + ["--set"] * bool(set_) + ["--over"] * bool(over)
    if (tuning is not None or report) and given:
        raise UsageError(f"{given[0]} describes a new tuning, and a recorded one is named", "drop one of them")
    if report:
        return cli._tuning.report(tuning or "", form, out, common)
    if tuning is not None:
        return cli._tuning.go_on(tuning, form, out, common)
    space = parse_space(over or [])
    base = settings | dict(read_assignments("--set", set_ or []))
    refuse_searched(base, space)
    request = TuneRequest(
        contenders=list(dict.fromkeys(make_experiment(base).configs(allow or ()))),
        space=space,
        budget=parse_budget(budget),
        sampler=read_value(sampler, Sampler, "--sampler"),
        pruner=read_value(pruner, Pruner, "--pruner"),
        metric=metric,
        validation=validation,
        trial_seed=trial_seed,
        seeds=tuple(parse_seeds(seeds or ["0-4"])),
    )
    return cli._tuning.run(request, form, out, common)


def refuse_searched(base: Settings, space: Space) -> None:
    """Refuse a setting that is given and searched, and those that a tuning decides itself."""
    for name in base:
        if name in space:
            raise UsageError(
                f"{name} is given and searched", f"drop it, or name by --over what is searched without {name}"
            )
        if name in ("validation", "score_test", "seed", "note"):
            raise UsageError(f"--set {name}: a tuning sets it itself", "see --validation, --trial-seed and --seeds")


def parse_budget(text: str) -> Budget:
    """``12`` -> trials; ``90s``, ``10min``, ``1.5h`` -> seconds of training steps."""
    if text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_TRIALS:
        return Budget(trials=int(text))
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(s|m|min|h)", text)
    seconds = float(found[1]) * SECONDS[found[2]] if found else 0.0
    if not 0 < seconds < math.inf:
        raise UsageError(f"--budget {text} is neither a number of trials nor a time", "write 12, 90s or 10min")
    return Budget(seconds=seconds)
