"""normbench tune: an equal budget of tuning for every contender, then the chosen settings on fresh seeds."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from normbench_cli.axes.assignments import read_assignments
from normbench_cli.cli import _options
from normbench_cli.cli._options import Common, Settings, common_options, config_options
from normbench_cli.config import GRID_FIELDS
from normbench_cli.errors import UsageError
from normbench_cli.experiments.tuning.parsing import SEARCH_DEFAULTS, changed_search, make_request
from normbench_cli.experiments.tuning.request import PRUNERS, SAMPLERS
from normbench_cli.experiments.tuning.space import USUAL
from normbench_cli.registry.trust import allow_packages

PANELS = {
    "What to tune": (*GRID_FIELDS, "recipe"),
    "Duration": ("epochs", "iterations"),
    "Optimization": ("batch_size", "lr", "momentum", "weight_decay", "schedule"),
    "Device and speed": ("device", "amp", "compile", "channels_last", "workers"),
    "Labels": ("tag",),
}
SEARCH, FINAL, WHICH = "Search", "Final runs", "Runs"


@config_options(PANELS, several=GRID_FIELDS)
@common_options
def tune(
    settings: Settings,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Set any other setting (may be repeated; see docs/experiments.md).",
            rich_help_panel="Optimization",
        ),
    ] = None,
    tuning: Annotated[
        str | None, typer.Argument(metavar="TUNING", help="Id of a recorded tuning to continue or report.")
    ] = None,
    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over",
            metavar="KEY=RANGE",
            help="Search a setting or a component's parameter in this range: lr=log:0.001..1, augnorm:phi=1.1..1.9 "
            "(may be repeated).",
            show_default=" ".join(USUAL),
            rich_help_panel=SEARCH,
        ),
    ] = None,
    budget: Annotated[
        str,
        typer.Option(
            "--budget",
            metavar="N|TIME",
            help="Budget of each contender: a number of trials, or training time such as 10min.",
            rich_help_panel=SEARCH,
        ),
    ] = SEARCH_DEFAULTS["budget"],
    sampler: Annotated[
        str, typer.Option("--sampler", help=f"Sampler: {', '.join(SAMPLERS)}.", rich_help_panel=SEARCH)
    ] = SEARCH_DEFAULTS["sampler"],
    pruner: Annotated[
        str,
        typer.Option(
            "--pruner", help=f"Pruner that stops bad trials early: {', '.join(PRUNERS)}.", rich_help_panel=SEARCH
        ),
    ] = SEARCH_DEFAULTS["pruner"],
    metric: Annotated[
        str,
        typer.Option("--metric", "-m", help="Validation metric that selects the best trial.", rich_help_panel=SEARCH),
    ] = SEARCH_DEFAULTS["metric"],
    validation: Annotated[
        float,
        typer.Option(
            "--validation",
            help="Fraction of the training set held out for validation, if the data set has no validation split.",
            rich_help_panel=SEARCH,
        ),
    ] = SEARCH_DEFAULTS["validation"],
    trial_seed: Annotated[
        int, typer.Option("--trial-seed", help="Seed of all trials.", rich_help_panel=SEARCH)
    ] = SEARCH_DEFAULTS["trial_seed"],
    seeds: Annotated[
        list[str] | None,
        typer.Option(
            "--seeds",
            "--seed",
            metavar="SEEDS",
            help="Seeds of the final runs: 3, 0-9 or 1,5,7.",
            show_default=SEARCH_DEFAULTS["seeds"],
            rich_help_panel=FINAL,
        ),
    ] = None,
    report: Annotated[
        bool,
        typer.Option(
            "--report", help="Report a tuning, by default the newest, without training.", rich_help_panel=WHICH
        ),
    ] = False,
    allow: _options.Allow = None,
    form: _options.Format = None,
    out: _options.Out = _options.REPORTS,
    *,
    common: Common,
) -> int:
    """Tune every contender with an equal budget, then test the chosen settings on fresh seeds.

    Trials are scored on a held-out validation set, never on the test set; each final run scores the test set once.
    Recorded trials are not repeated, so the same command continues an interrupted tuning.

    Examples:
      normbench tune --norm batchnorm,popnorm --act sigmoid --model mlp --budget 12
      normbench tune --report --format md,html
    """
    allow_packages(allow or [])
    search: dict[str, Any] = {
        "budget": budget,
        "sampler": sampler,
        "pruner": pruner,
        "metric": metric,
        "validation": validation,
        "trial_seed": trial_seed,
        "seeds": seeds or SEARCH_DEFAULTS["seeds"],
    }
    given = [f"--{name.replace('_', '-')}" for name in (*settings, *changed_search(search))]
    given += ["--set"] * bool(set_) + ["--over"] * bool(over)
    if (tuning is not None or report) and given:
        raise UsageError(f"{given[0]} describes a new tuning, and a recorded one is named", "drop one of them")
    from normbench_cli.cli import _tuning

    if report:
        return _tuning.report(tuning or "", form, out, common)
    if tuning is not None:
        return _tuning.resume(tuning, form, out, common)
    described = settings | dict(read_assignments("--set", set_ or []))
    request = make_request(described, over=over or (), **search, allow=allow or ())
    return _tuning.run(request, form, out, common)
