"""A plot inside a page: matplotlib's SVG in the page's colors, with a focusable mark for every value."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.html.tables import notes_html
from normbench_cli.reporting.html.text import escape
from normbench_cli.reporting.plots import drawing_of
from normbench_cli.reporting.plots.drawing import Drawing, Mark
from normbench_cli.reporting.plots.files import to_svg
from normbench_cli.reporting.plots.style import AXIS, COLORS, GRID, INK, PAPER

VARIABLES = {INK: "ink", AXIS: "axis", GRID: "grid", PAPER: "paper"} | {
    color: f"group-{number}" for number, color in enumerate(COLORS)
}
APART = 1.5  # points: a mark that is closer to the previous one would be hidden by it


def figure_html(figure: Figure, name: str) -> str:
    """The plot, its notes, and its text for screen readers."""
    drawing = drawing_of(figure)
    svg = page_svg(to_svg(drawing.plot), f"{name}-")
    label = f"{figure.title}. {len(drawing.marks)} values; the arrow keys go from one to the next."
    opening = f'<svg class="plot" tabindex="0" role="group" aria-roledescription="plot" aria-label="{escape(label)}"'
    marks = "\n".join(mark_html(*placed) for placed in places(drawing))
    svg = svg.replace("<svg", opening, 1).removesuffix("</svg>") + f'<g class="marks">\n{marks}\n</g></svg>'
    caption = f"<figcaption>{escape(figure.title)}</figcaption>"
    return f'<figure id="{name}">\n{svg}\n{caption}\n{notes_html(figure.notes)}</figure>'


def page_svg(svg: str, prefix: str) -> str:
    """An SVG document as an element of a page: no head, unique ids, the page's colors and size."""
    svg = svg[svg.index("<svg") :].strip()
    for part in (r"<metadata>.*?</metadata>", r"<defs>\s*<style.*?</style>\s*</defs>", r"<!--.*?-->"):
        svg = re.sub(part, "", svg, flags=re.DOTALL)
    for size in ("width", "height"):  # the page sets them; viewBox keeps the proportions
        svg = re.sub(rf'(<svg[^>]*?) {size}="[^"]*"', r"\1", svg, count=1)
    return re.sub(r"<[^<>]+>", lambda tag: page_tag(tag[0], prefix), svg)  # tags only, never the text between them


def page_tag(tag: str, prefix: str) -> str:
    tag = re.sub(r'\bid="', f'id="{prefix}', tag)
    tag = re.sub(r'((?:xlink:)?href="#|url\(#)', rf"\1{prefix}", tag)
    for color, variable in VARIABLES.items():
        tag = re.sub(rf'\b(fill|stroke)="{color}"', rf'style="\1: var(--{variable})"', tag)
        tag = re.sub(rf"\b(fill|stroke): {color}\b", rf"\1: var(--{variable})", tag)
    return tag


def places(drawing: Drawing) -> Iterator[tuple[Mark, float, float]]:
    """The marks with their positions in the SVG, without those that cover the previous one of their group."""
    height = float(drawing.plot.bbox.height)
    last: dict[str, tuple[float, float]] = {}
    for mark in drawing.marks:
        x, y = (float(value) for value in mark.axes.transData.transform((mark.x, mark.y)))
        if math.isfinite(x + y) and math.dist((x, y), last.get(mark.group, (math.inf, 0))) >= APART:
            last[mark.group] = (x, y)
            yield mark, x, height - y


def mark_html(mark: Mark, x: float, y: float) -> str:
    text, group = escape(mark.text), escape(mark.group)
    runs = f' data-runs="{escape(" ".join(mark.runs))}"' if mark.runs else ""
    return (
        f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="3.5" data-group="{group}" data-text="{text}"{runs}>'
        f"<title>{text}</title></circle>"
    )
