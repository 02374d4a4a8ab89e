"""A suite's figure: its numbers along a setting that rows vary, a line for each combination of the others.

[figure]
along      the setting on the axis: init_gain, batch_size, lr, ...
columns    a figure for each of them
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from normbench_cli.config import FIELDS
from normbench_cli.errors import UsageError
from normbench_cli.suites.checks import Table, check_keys


@dataclass(frozen=True)
class SuiteFigure:
    """See the module's docstring."""

    along: str
    columns: Sequence[str]


def read_figure(given: Table, columns: Iterable[str], where: str) -> SuiteFigure:
    """Read the table [figure] of a suite with these columns."""
    check_keys(given, ("along", "columns"), where)
    along, shown = given.get("along"), given.get("columns")
    if not isinstance(along, str):
        raise UsageError(f"{where}: along is {along!r}", 'write along = "init_gain"')
    check_keys([along], [name for name in FIELDS if name != "seed"], f"{where}: along")
    if not isinstance(shown, list) or not shown:
        raise UsageError(f"{where}: columns is {shown!r}", "write a list of columns")
    check_keys(map(str, shown), columns, f"{where}: columns")
    return SuiteFigure(along, tuple(shown))
