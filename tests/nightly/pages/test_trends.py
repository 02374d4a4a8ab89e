"""Measurements over the nights: what a plot gets to show."""

from __future__ import annotations

from normbench_cli.nightly.pages.trends import NIGHTS, histories, moments, spark, trend_figure
from normbench_cli.reporting.plots import drawing_of
from tests.nightly.pages.nights import BUMP, SLOW, STEP, killed, night, nights


def test_a_night_that_was_killed_counts_nothing() -> None:
    found = histories([*nights(5), killed(5), night(6)])
    assert [summary.id for summary, _ in found[STEP.name]] == [f"{number:08x}" for number in (0, 1, 2, 3, 4, 6)]


def test_the_points_have_bands_marks_classes_and_the_change_of_level() -> None:
    figure = trend_figure(histories(nights())[STEP.name], "p")
    points = figure.points
    assert list(points["group"].unique()) == ["torch 2.12.0", "torch 2.13.0"]
    assert points["band_low"].isna().tolist() == [number < BUMP + 2 for number in range(12)]
    assert (points["remark"] == "regression").tolist() == [number >= SLOW for number in range(12)]
    assert figure.options["changes"] == ["2026-11-16"]


def test_the_plot_says_what_band_ring_and_line_are() -> None:
    drawing = drawing_of(trend_figure(histories(nights())[STEP.name], "p"))
    texts = " ".join(text.get_text().replace("\n", " ") for text in drawing.plot.texts)
    assert "band: what the night was compared with; ring: regression; dashed line: the level changed" in texts
    (axes,) = drawing.plot.axes
    assert [collection for collection in axes.collections if collection.get_alpha() == 0.15]
    assert drawing.marks[-1].text == "torch 2.13.0, 2026-11-19: 13.93 (n=1), regression"


def test_a_plot_shows_the_last_nights_only() -> None:
    history = histories(nights())[STEP.name] * 20
    assert len(trend_figure(history, "p").points) == NIGHTS
    assert len(spark(history)) == 30


def test_nights_of_one_day_stand_beside_each_other() -> None:
    (one, two) = (night.summary for night in nights(2))
    placed = moments([one, one, two])
    assert [f"{moment:%d %H}" for moment in placed] == ["08 00", "08 12", "09 00"]
