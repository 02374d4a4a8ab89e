"""Tuning: the same number of trials, or the same time, for every contender; then the best setting on fresh seeds.

    parsing     parses command-line options or Python arguments into a request
    space       the search space: settings and parameters of components, each with its range
    parameters  which contenders have a parameter, and setting it in their specs
    request     contenders, space, budget and seeds, as a dataclass and as the JSON of a tuning's row
    sampling    Optuna: which values are tried, which trials are pruned
    contest     the search without any training: the order of trials, and which setting is chosen
    trial       one trial: a run that is looked up in the database, continued, or trained
    run         a whole tuning: trials and final runs
    details     the record of a tuning in its row

A trial is an ordinary run with a part of the training set held out; it never scores the test set.  A restarted tuning
proposes the same trials in the same order and finds those that are recorded.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from normbench_cli.experiments.tuning import contest, request, run, sampling, space

__all__ = ["contest", "request", "run", "sampling", "space"]


def __getattr__(name: str) -> object:
    """Import these modules on first use: `run` loads torch, SQLAlchemy and Optuna."""
    if name in __all__:
        return import_module(f"normbench_cli.experiments.tuning.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
