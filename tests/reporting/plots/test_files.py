"""A figure as files: two plots and the numbers they show."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from normbench_cli.reporting.plots import KINDS, write_figure
from tests.reporting.plots.conftest import MakeFigure


@pytest.mark.parametrize("kind", ["curve", *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS[1:])])
def test_a_figure_becomes_svg_png_and_its_points(make_figure: MakeFigure, kind: str, tmp_path: Path) -> None:
    figure = make_figure(kind)
    figure.points["runs"] = [("aaaaaaaa",)] * len(figure.points)
    svg, png, numbers = write_figure(figure, tmp_path / "out")
    assert [path.name for path in (svg, png, numbers)] == [f"{kind}-1.{form}" for form in ("svg", "png", "csv")]
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in svg.read_text(encoding="utf-8")
    pd.testing.assert_frame_equal(pd.read_csv(numbers), figure.points.drop(columns="runs"))
