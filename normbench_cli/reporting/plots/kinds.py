"""Which function draws which kind of figure.  Loads matplotlib."""

from __future__ import annotations

from collections.abc import Callable

from normbench_cli.errors import UsageError
from normbench_cli.registry.spec import suggest
from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.plots import (
    bars,
    convergence,
    critical_difference,
    curve,
    expected_best,
    pareto,
    ratios,
    sensitivity,
    strength,
    survival,
    trend,
)
from normbench_cli.reporting.plots.drawing import Drawing, plot_style

DRAW: dict[str, Callable[[Figure], Drawing]] = {
    "curve": curve.draw,
    "pareto": pareto.draw,
    "strength": strength.draw,
    "ratios": ratios.draw,
    "critical_difference": critical_difference.draw,
    "trend": trend.draw,
    "bars": bars.draw,
    "sensitivity": sensitivity.draw,
    "expected_best": expected_best.draw,
    "survival": survival.draw,
    "convergence": convergence.draw,
}


def draw_kind(figure: Figure) -> Drawing:
    if figure.kind not in DRAW:
        raise UsageError(f"'{figure.kind}' is not a kind of plot", suggest(figure.kind, list(DRAW)))
    with plot_style():
        return DRAW[figure.kind](figure)
