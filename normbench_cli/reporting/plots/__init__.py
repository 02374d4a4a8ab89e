"""Figures of a report as plots: SVG, PNG, and the numbers they show as CSV.

A `document.Figure` has points, one row per point, and a kind.  Each kind is a module of this package, which lists
the columns that its points need and the options that it takes:

    curve                 a measurement over epochs, steps or seconds, with a band over the seeds
    pareto                accuracy against cost, with the Pareto front
    strength              accuracy against an attack's epsilon, a corruption's severity or the batch size
    ratios                profiled times relative to a reference, with intervals
    critical_difference   mean ranks over data sets, and which of them do not differ significantly
    trend                 a measurement from night to night
    bars                  a measurement of each group
    sensitivity           the scores of tuning trials against a setting
    expected_best         the best score that a number of trials is expected to find
    survival              the share of runs that have reached a score, by steps or seconds
    convergence           the error of a solver against passes over the data

Plots have the width of one column of a paper and colors that color-blind readers can distinguish.
matplotlib loads with the first plot.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from normbench_cli.reporting.document import Figure

if TYPE_CHECKING:
    import matplotlib.figure

    from normbench_cli.reporting.plots.drawing import Drawing

KINDS = (
    *("curve", "pareto", "strength", "ratios", "critical_difference", "trend", "bars"),
    *("sensitivity", "expected_best", "survival", "convergence"),
)


def draw(figure: Figure) -> matplotlib.figure.Figure:
    """The plot of a figure."""
    return drawing_of(figure).plot


def drawing_of(figure: Figure) -> Drawing:
    """The plot of a figure, with the position and the text of every value in it."""
    from normbench_cli.reporting.plots.kinds import draw_kind

    return draw_kind(figure)


def write_figure(figure: Figure, folder: Path) -> Iterator[Path]:
    """Write ``<name>.svg``, ``.png`` and ``.csv``; yield each path written."""
    from normbench_cli.reporting.plots import files

    yield from files.write_figure(figure, folder)
