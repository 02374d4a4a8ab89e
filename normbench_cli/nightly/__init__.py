"""The nightly benchmark: a suite of cells measured every night, its history, and the gate that finds regressions.

A *night* runs the cells of a nightly suite and records their measurements.  The *gate* compares each measurement with
its own history, within one class of hardware, versions and settings.  A value outside its band is measured again at
once, and only a confirmed change is called a regression.

    cell, suite, read_cells     cells and suites as values; reading them from TOML (``suites/``: the built-in ones)
    processes                   multi-process training, as requested on the command line
    cells                       measuring one cell, in its own process; cell_process: that process from outside
    remote                      measuring on the workers of an executor
    measurements, classes       what the gate knows about a metric; the machine class it is compared within
    lock, budget                one night at a time; which cells fit into its time
    night, run, judging         a night in the database; running a whole night; measuring suspects again
    series, history             past measurements, as the gate and the pages read them
    gate/                       bands, change points, the verdict on one series
    decisions, bisect/          accepted baselines and mutes; the first slow commit
    verdict*, numbers, pages/   the outcome of a night: a value, a line, JSON, pages
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
        job,
        last_night,
        lock,
        log,
        processes,
        remote,
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
    "job",
    "last_night",
    "lock",
    "log",
    "processes",
    "remote",
    "run",
    "schedule",
    "suite",
    "verdict_json",
    "verdict_line",
]


def __getattr__(name: str) -> object:
    """Import these modules on first use: `run` loads torch and SQLAlchemy."""
    if name in __all__:
        return import_module(f"normbench_cli.nightly.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
