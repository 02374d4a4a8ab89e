"""The figures of a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.figures.convergence import make_convergence
from normbench_cli.reporting.figures.curves import make_curves
from normbench_cli.reporting.figures.profiles import make_ratios
from normbench_cli.reporting.figures.query import PlotQuery
from normbench_cli.reporting.figures.ranks import make_ranks
from normbench_cli.reporting.figures.scores import make_bars, make_pareto
from normbench_cli.reporting.figures.strengths import make_strengths
from normbench_cli.reporting.figures.trends import make_trends
from normbench_cli.reporting.selection import Selection
from normbench_cli.store import Store

MAKE: dict[str, Callable[[Store, Selection, PlotQuery], Iterator[Figure]]] = {
    "curve": make_curves,
    "pareto": make_pareto,
    "strength": make_strengths,
    "ratios": make_ratios,
    "critical_difference": make_ranks,
    "trend": make_trends,
    "bars": make_bars,
    "convergence": make_convergence,
}


def make_figures(store: Store, selection: Selection, plots: Iterable[PlotQuery]) -> list[Figure]:
    """The figures of each requested plot, one per metric."""
    return [figure for plot in plots for figure in MAKE[plot.kind](store, selection, plot)]
