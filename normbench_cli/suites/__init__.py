"""The tables and figures of the papers as data: settings, grid and published numbers, one TOML file each.

A suite's rows and columns are labels with settings.  A cell is a row and a column; its runs are found by the
fingerprints of its settings, so published numbers never affect a measurement.

    <paper>/<table>.toml   the suites; scales.toml has the substitutes for data and networks at scale `smoke`
    <paper>/claims.toml    claims of the papers with a number or an order, and the test that decides each
    suite.py               Suite, Cell, Published; question.py: Question, for what no paper answers;
                           figure.py: SuiteFigure, its numbers along a setting
    read.py                a file -> a checked suite; checks.py has the checks
    read_claims.py         a file -> claims
    of_experiment.py       an experiment file -> a suite without published numbers
    catalog.py             names, find, select, claims: the available suites and claims
    scales.py              a cell's configuration at the scales smoke, short and full
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from normbench_cli.suites.catalog import claims, find, names, select
    from normbench_cli.suites.read_claims import Claim
    from normbench_cli.suites.scales import SCALES, Scale, scale_name
    from normbench_cli.suites.suite import Cell, Place, Published, Suite

__all__ = [
    "SCALES",
    "Cell",
    "Claim",
    "Place",
    "Published",
    "Scale",
    "Suite",
    "claims",
    "find",
    "names",
    "scale_name",
    "select",
]
MODULES = ("catalog", "scales", "suite", "read_claims")


def __getattr__(name: str) -> object:
    """Import these on first use: most commands do without."""
    if name in __all__:
        modules = (import_module(f"normbench_cli.suites.{module}") for module in MODULES)
        return next(getattr(module, name) for module in modules if hasattr(module, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
