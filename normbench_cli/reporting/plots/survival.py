"""Time to a target: the share of a group's runs that have reached it, as a step function (Kaplan and Meier).

Columns of the points: group, at, share, n (runs), reached (runs that ever did); runs if known.
Options: unit (steps or seconds); end, where the axis ends; groups as for curves.
"""

from __future__ import annotations

from matplotlib.artist import Artist

from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.plots.drawing import Drawing, add_legend, groups_of, legend_lines, new_drawing
from normbench_cli.reporting.plots.style import group_style

SAYS = "share of runs that have reached it; runs that never do count as not reached up to their end"


def draw(figure: Figure) -> Drawing:
    points, unit = figure.points, str(figure.options.get("unit", "steps"))
    end = float(figure.options.get("end", points["at"].max()))
    groups = groups_of(figure, points)
    labels = [f"{g.name} ({int(g.points['reached'].max())} of {int(g.points['n'].max())})" for g in groups]
    drawing, axes = new_drawing(figure.title, SAYS, 2.2, legend_lines(labels)[2])
    handles: list[Artist] = []
    for group in groups:
        style, part = group_style(group.number), group.points.sort_values("at")
        at, share = [*part["at"], end], [*(part["share"] * 100), 100 * part["share"].iloc[-1]]
        handles += axes.step(at, share, where="post", color=style.color, linestyle=style.dash, zorder=3)
        for row in part.itertuples():
            text = f"{group.name}, {row.at:,.4g} {unit}: {row.share:.0%} of {row.n} runs"
            drawing.mark(axes, row.at, 100 * row.share, group.name, text, getattr(row, "runs", ()))
    axes.set_ylim(-3, 103)
    axes.set_xlabel(unit if unit != "seconds" else "seconds of training")
    axes.set_ylabel("reached (%)")
    add_legend(drawing, handles, labels)
    return drawing
