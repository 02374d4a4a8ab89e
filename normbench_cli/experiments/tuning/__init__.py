"""Tuning: the same number of trials, or the same time, for every contender; then the best setting on fresh seeds.

    space       the settings that are searched, each with its range
    request     what is asked for: contenders, space, budget, seeds; as a value, and as the JSON of a tuning's row
    sampling    Optuna: which values are tried, which trials are stopped early
    contest     the search without any training: who is asked in which order, and which setting is chosen
    trial       one trial: a run that is looked up in the database, continued, or trained
    run         a whole tuning: trials, final runs, and what is recorded of them

A trial is an ordinary run with a part of the training set held out; it never scores the test set.  A tuning that is
started again asks for the same trials in the same order and finds those that are recorded.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from normbench_cli.experiments.tuning import contest, request, run, sampling, space

__all__ = ["contest", "request", "run", "sampling", "space"]


def __getattr__(name: str) -> object:
    """These modules on first use: `run` loads torch, SQLAlchemy and Optuna."""
    if name in __all__:
        return import_module(f"normbench_cli.experiments.tuning.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
