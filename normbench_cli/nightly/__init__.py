"""The nightly benchmark: a suite of cells measured every night, its history, and the gate that finds regressions.

A *night* runs the cells of a nightly suite and records what they measured.  The *gate* compares each measurement with
its own history, within one class of hardware, versions and settings.  What leaves its band is measured again at once,
and only what is confirmed is called a regression.

    cell, suite, read_cells     cells and suites as values; reading them from TOML (``suites/``: the built-in ones)
    processes                   trainings by several processes, as the command line asks for them
    cells                       measuring one cell, in a process of its own; cell_process: that process from outside
    elsewhere                   measuring by the workers of an executor
    measurements, classes       what a metric is to the gate; within which class of machines it is compared
    lock, budget                one night at a time; which cells fit into its time
    night, run, judging         a night in the database; a whole night; what is suspected is measured again
    series, history             what nights measured, as the gate and the pages take it
    gate/                       bands, change points, the judgement of one series
    decisions, bisect/          baselines accepted and mutes; the first slow commit
    verdict*, numbers, pages/   what a night came to: a value, a line, JSON, pages
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from normbench_cli.nightly import (
        accept_and_mute,
        bisect,
        conclusion,
        decisions,
        elsewhere,
        job,
        last_night,
        lock,
        log,
        processes,
        run,
        schedule,
        suite,
        verdict_json,
        verdict_line,
    )

__all__ = [
    "accept_and_mute",
    "bisect",
    "conclusion",
    "decisions",
    "elsewhere",
    "job",
    "last_night",
    "lock",
    "log",
    "processes",
    "run",
    "schedule",
    "suite",
    "verdict_json",
    "verdict_line",
]


def __getattr__(name: str) -> object:
    """These modules on first use: `run` loads torch and SQLAlchemy."""
    if name in __all__:
        return import_module(f"normbench_cli.nightly.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
