"""Groups can be told apart: with and without color, by color-blind readers, on white and on dark."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from normbench_cli.reporting.html.page import ON_DARK
from normbench_cli.reporting.plots.style import COLORS, COLORS_ON_DARK, INK, PAPER, group_style

# Machado, Oliveira & Fernandes 2009, severity 1
SEEN_BY = {
    "all": np.eye(3),
    "protanopes": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopes": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritanopes": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
PAGES = {"light": (COLORS, PAPER, INK), "dark": (COLORS_ON_DARK, ON_DARK[PAPER], ON_DARK[INK])}


def linear(color: str) -> np.ndarray:
    values = np.array([int(color[start : start + 2], 16) for start in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIELAB, in which a distance of 10 is seen at a glance."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(np.clip(to_xyz @ np.clip(rgb, 0, 1) / [0.9505, 1, 1.089], 0.001, None))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one: str, other: str) -> float:
    low, high = sorted(float(np.dot([0.2126, 0.7152, 0.0722], linear(color))) + 0.05 for color in (one, other))
    return high / low


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
@pytest.mark.parametrize("eyes", SEEN_BY.values(), ids=SEEN_BY)
def test_colors_differ_for_every_reader(page: tuple[tuple[str, ...], str, str], eyes: np.ndarray) -> None:
    seen = [lab(np.asarray(eyes) @ linear(color)) for color in page[0]]
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) > 12


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_colors_and_text_stand_out_from_the_page(page: tuple[tuple[str, ...], str, str]) -> None:
    colors, paper, ink = page
    assert min(contrast(color, paper) for color in colors) >= 3
    assert contrast(ink, paper) >= 7


def test_twenty_groups_differ_in_color_or_dash_and_neighbors_in_both() -> None:
    styles = [group_style(number) for number in range(180)]
    assert len({(style.color, style.dash) for style in styles[:20]}) == 20
    assert len(set(styles)) == 180
    assert all(a.color != b.color and a.dash != b.dash for a, b in pairwise(styles))
