"""`normbench compare`: two sides, each a run or the runs that a filter selects.  `normbench runs diff`: two runs.

`sides` finds the runs, `settings` what differs between them, `metrics` what they measured with a paired test, `figures`
their curves and the ratios of profiles; `comparison` combines these and `render` turns them into a document and JSON.
`two_runs` is the diff of two runs, without statistics.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from normbench_cli.reporting.compare import comparison, render, two_runs

__all__ = ["comparison", "render", "two_runs"]


def __getattr__(name: str) -> object:
    """Import these modules on first use, as they load pandas."""
    if name in __all__:
        return import_module(f"normbench_cli.reporting.compare.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
