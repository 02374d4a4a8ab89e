"""Parsing a tuning request from command-line options or Python keyword arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from normbench_cli.axes.experiment import Experiment, make_experiment
from normbench_cli.axes.values import pieces, read_seeds
from normbench_cli.config import GRID_FIELDS, REGISTRIES
from normbench_cli.durations import parse_duration
from normbench_cli.errors import UsageError
from normbench_cli.experiments.tuning.parameters import specs_in
from normbench_cli.experiments.tuning.request import MOST_TRIALS, Budget, Pruner, Sampler, TuneRequest
from normbench_cli.experiments.tuning.space import Space, parse_space
from normbench_cli.registry.spec import read_value

DECIDED = ("validation", "score_test", "seed", "fold", "note")  # set by the tuning itself
SEARCH_DEFAULTS: dict[str, Any] = {
    "budget": "12",
    "sampler": "quasi-random",
    "pruner": "none",
    "metric": "validation/accuracy",
    "validation": 0.2,
    "trial_seed": 1000,
    "seeds": "0-4",
}


def make_request(
    settings: Mapping[str, Any],
    *,
    over: str | Iterable[str] | Mapping[str, str] = (),
    budget: int | str = SEARCH_DEFAULTS["budget"],
    sampler: str = SEARCH_DEFAULTS["sampler"],
    pruner: str = SEARCH_DEFAULTS["pruner"],
    metric: str = SEARCH_DEFAULTS["metric"],
    validation: float = SEARCH_DEFAULTS["validation"],
    trial_seed: int = SEARCH_DEFAULTS["trial_seed"],
    seeds: int | str | Iterable[Any] = SEARCH_DEFAULTS["seeds"],
    allow: str | Iterable[str] = (),
) -> TuneRequest:
    """settings: of the contenders, by name.  The others are the options of `normbench tune`; `over` may also be a
    dictionary."""
    experiment = make_experiment(settings)
    if several := [name for name in experiment.axes if name not in GRID_FIELDS]:
        raise UsageError(
            f"{several[0]} has several values, and contenders differ in {', '.join(GRID_FIELDS)}",
            f"give one, or search it: --over {several[0]}=...",
        )
    contenders = list(dict.fromkeys(experiment.configs(allow)))
    space = parse_space(ranges_in(over), contenders)
    refuse_searched(experiment, space)
    return TuneRequest(
        contenders=contenders,
        space=space,
        budget=parse_budget(str(budget)),
        sampler=read_value(sampler, Sampler, "--sampler"),
        pruner=read_value(pruner, Pruner, "--pruner"),
        metric=metric,
        validation=validation,
        trial_seed=trial_seed,
        seeds=tuple(read_seeds(pieces("seed", seeds))),
    )


def changed_search(search: Mapping[str, Any]) -> list[str]:
    """The names of the search options that differ from their defaults."""
    return [name for name, value in search.items() if str(value) != str(SEARCH_DEFAULTS[name])]


def ranges_in(over: str | Iterable[str] | Mapping[str, str]) -> list[str]:
    """The ranges in the command's form, ``key=range``."""
    if isinstance(over, Mapping):
        return [f"{name}={text}" for name, text in over.items()]
    return [over] if isinstance(over, str) else list(over)


def refuse_searched(experiment: Experiment, space: Space) -> None:
    """Reject settings that are both given and searched, and those that a tuning sets itself."""
    for name in (*experiment.written, *given_parameters(experiment)):
        if name in space:
            raise UsageError(
                f"{name} is given and searched", f"drop it, or list the searched settings with --over, without {name}"
            )
        if name in DECIDED:
            raise UsageError(f"--set {name}: a tuning sets it itself", "see --validation, --trial-seed and --seeds")


def given_parameters(experiment: Experiment) -> list[str]:
    """The parameters that specs set explicitly, even to their defaults: ``augnorm:phi``."""
    return [
        f"{spec.entry.name}:{key}"
        for setting in REGISTRIES
        for text in experiment.values.get(setting, [])
        for spec in specs_in(setting, text)
        for key in spec.written
    ]


def parse_budget(text: str) -> Budget:
    """``12`` -> trials; ``90s``, ``10min``, ``1.5h`` -> seconds of training steps."""
    if text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_TRIALS:
        return Budget(trials=int(text))
    problem, examples = "neither a number of trials nor a time", "12, 90s or 10min"
    return Budget(seconds=parse_duration(text, problem=problem, examples=examples))
