"""From runs to figures: which plots a report draws, and the points they show.

``--plot KIND`` or ``--plot KIND:option=value`` names a plot (`query`); each file here makes the figures of one or two
kinds from a store and a `Selection`; `reporting.plots` draws them.
"""

from __future__ import annotations

from normbench_cli.reporting.figures.make import make_figures
from normbench_cli.reporting.figures.query import PlotQuery, parse_plot

__all__ = ["PlotQuery", "make_figures", "parse_plot"]
