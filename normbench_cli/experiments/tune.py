"""Tuning from Python: the same as `normbench tune`, without printing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from normbench_cli.errors import UsageError
from normbench_cli.experiments.events import Callback, ignore
from normbench_cli.experiments.recorded import Packages
from normbench_cli.experiments.tuning import run
from normbench_cli.experiments.tuning.parsing import SEARCH_DEFAULTS, changed_search, make_request


def tune(
    tuning: str | None = None,
    *,
    norm: str | Iterable[str] | None = None,
    act: str | Iterable[str] | None = None,
    model: str | Iterable[str] | None = None,
    data: str | Iterable[str] | None = None,
    objective: str | Iterable[str] | None = None,
    over: str | Iterable[str] | Mapping[str, str] = (),
    budget: int | str = SEARCH_DEFAULTS["budget"],
    sampler: str = SEARCH_DEFAULTS["sampler"],
    pruner: str = SEARCH_DEFAULTS["pruner"],
    metric: str = SEARCH_DEFAULTS["metric"],
    validation: float = SEARCH_DEFAULTS["validation"],
    trial_seed: int = SEARCH_DEFAULTS["trial_seed"],
    seeds: int | str | Iterable[int] = SEARCH_DEFAULTS["seeds"],
    db: str | None = None,
    allow: Packages = (),
    on_event: Callback = ignore,
    **settings: Any,
) -> run.Tuning:
    """Tune every contender with an equal budget, and test the chosen settings on fresh seeds.

    Each combination of norm, act, model, data and objective is a contender.  Recorded runs are not trained again, so
    the same call continues an interrupted tuning.

    tuning: the id of a recorded tuning to continue, instead of the arguments of a new one.  over: search ranges, as
    "lr=log:0.001..1", or {"lr": "log:0.001..1", "augnorm:phi": "1.1..1.9"}.  budget: trials, or time such as "10min".
    settings: any other setting of a run, with one value.  The others are the options of `normbench tune`; db, allow
    and on_event are as in `train`.

    >>> made = nb.tune(norm=["batchnorm", "popnorm"], act="sigmoid", model="mlp", over={"lr": "log:0.01..1"}, budget=8)
    >>> [result.metrics["test/accuracy"] for result in made.results["popnorm"]]
    """
    axes = {"norm": norm, "act": act, "model": model, "data": data, "objective": objective}
    given = {name: value for name, value in {**axes, **settings}.items() if value is not None}
    search: dict[str, Any] = {
        "budget": budget,
        "sampler": sampler,
        "pruner": pruner,
        "metric": metric,
        "validation": validation,
        "trial_seed": trial_seed,
        "seeds": seeds,
    }
    if tuning is not None:
        if described := [*given, *changed_search(search), *["over"] * bool(over)]:
            raise UsageError(f"{described[0]} describes a new tuning, and a recorded one is named", "drop one")
        return run.tune(run.recorded_request(tuning, db, allow), db, on_event)
    return run.tune(make_request(given, over=over, **search, allow=allow), db, on_event)
