"""Every kind of plot, with groups that are few, many, long-named or odd: drawn without a warning, all told apart."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest
from matplotlib.figure import Figure as Plot
from matplotlib.text import Text

from normbench_cli.errors import UsageError
from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.plots import KINDS, draw, drawing_of
from normbench_cli.reporting.plots.files import to_svg
from normbench_cli.reporting.plots.kinds import DRAW
from tests.reporting.plots.conftest import MakeFigure

GROUPS = {
    "one": ["popnorm"],
    "twenty": [f"augnorm:phi={1 + number / 20}" for number in range(20)],
    "long": [
        f"popnorm:kappa={number},remove=none,order=remove_first sigmoid resnet101 cifar100" for number in range(9)
    ],
    "odd": [
        "$x^2$ it",
        "$\\frac$",
        "_hidden",
        "<script>alert(1)</script> & --> ]]>",
        "名前\U0001f600\x0b",
        "50% {a} \\n",
    ],
}


SLOW = {"one": [], "twenty": [pytest.mark.slow], "long": [pytest.mark.slow], "odd": []}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("groups", [pytest.param(groups, id=name, marks=SLOW[name]) for name, groups in GROUPS.items()])
def test_any_groups_are_drawn_without_a_warning_and_as_valid_svg(
    make_figure: MakeFigure, kind: str, groups: list[str]
) -> None:
    svg = to_svg(draw(make_figure(kind, groups)))
    text = "".join(ElementTree.fromstring(svg).itertext())
    assert "A plot of" in text
    assert "script>alert(1)" not in svg
    if groups == GROUPS["odd"]:
        assert "$x^2$" in text


@pytest.mark.parametrize("kind", KINDS)
def test_a_plot_is_as_wide_as_a_column_and_has_a_mark_for_every_value(make_figure: MakeFigure, kind: str) -> None:
    figure = make_figure(kind)
    drawing = drawing_of(figure)
    assert drawing.plot.get_figwidth() == 3.5
    assert len(drawing.marks) == len(figure.points)
    assert {mark.group for mark in drawing.marks} == {"batchnorm", "popnorm"}
    assert all(mark.text.startswith(mark.group) for mark in drawing.marks)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_of_a_plot_lies_outside_of_it(make_figure: MakeFigure, kind: str) -> None:
    plot = draw(make_figure(kind, GROUPS["long"]))
    plot.draw_without_rendering()
    width, height = plot.get_size_inches() * plot.dpi
    for artist in [*plot.axes, *plot.legends]:
        box = artist.get_tightbbox()
        assert box is not None
        assert (box.x0 > -3, box.y0 > -3, box.x1 < width + 3, box.y1 < height + 3) == (True, True, True, True)


@pytest.mark.parametrize(
    "kind", ["curve", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("strength", "pareto", "trend"))]
)
def test_the_legend_stands_below_the_axes_and_names_all_groups(make_figure: MakeFigure, kind: str) -> None:
    plot = draw(make_figure(kind, GROUPS["twenty"]))
    plot.draw_without_rendering()
    (legend,), (axes,) = plot.legends, plot.axes
    assert legend.get_window_extent().y1 < axes.get_window_extent().y0
    assert [text.get_text().split(" ")[0] for text in legend.get_texts()] == GROUPS["twenty"]


@pytest.mark.parametrize("kind", ["curve", "strength", "pareto", "bars"])
def test_runs_that_diverged_are_named(make_figure: MakeFigure, kind: str) -> None:
    plot = draw(make_figure(kind, unfinished={"popnorm": "1 diverged", "lost": "2 diverged"}))
    shown = [text.get_text().replace("\n", " ") for text in texts_of(plot)]
    assert "popnorm (n=3, 1 diverged)" in shown
    assert "lost: 2 diverged" in shown


def texts_of(plot: Plot) -> list[Text]:
    return [*plot.axes[0].get_yticklabels(), *(text for legend in plot.legends for text in legend.get_texts())]


def test_a_group_looks_the_same_in_a_figure_that_lacks_others(make_figure: MakeFigure) -> None:
    whole = draw(make_figure("curve", ["a", "b", "c"])).axes[0].lines[2]
    alone = draw(make_figure("curve", ["c"], groups=["a", "b", "c"])).axes[0].lines[0]
    assert (whole.get_color(), whole.get_linestyle()) == (alone.get_color(), alone.get_linestyle())


def test_the_same_figure_is_written_as_the_same_bytes(make_figure: MakeFigure) -> None:
    assert to_svg(draw(make_figure("curve"))) == to_svg(draw(make_figure("curve")))


def test_kinds_are_those_that_can_be_drawn_and_another_is_an_error(make_figure: MakeFigure) -> None:
    assert tuple(DRAW) == KINDS
    with pytest.raises(UsageError, match="did you mean 'curve'"):
        draw(Figure("", "", "curves", make_figure("curve").points))
