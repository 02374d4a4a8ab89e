"""A document as a page: the template filled with blocks, style and script."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from string import Template

from normbench_cli.reporting.document import Document, Figure, Paragraph, Table
from normbench_cli.reporting.html.plots import figure_html
from normbench_cli.reporting.html.runs import runs_data
from normbench_cli.reporting.html.tables import table_html
from normbench_cli.reporting.html.text import escape, to_json
from normbench_cli.reporting.plots.style import AXIS, COLORS, COLORS_ON_DARK, GRID, INK, PAPER

ON_DARK = {INK: "#ececec", AXIS: "#a8a8a8", GRID: "#3a3f45", PAPER: "#16191d"}
NAMES = {INK: "ink", AXIS: "axis", GRID: "grid", PAPER: "paper"}


def to_html(document: Document) -> str:
    """The whole document as one file."""
    script = resource("page.js")
    facts = "\n".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in document.head.items())
    head = Template(resource("head.html")).substitute(facts=facts)
    blocks = [block_html(block, number) for number, block in enumerate(document.blocks)]
    return Template(resource("page.html")).substitute(
        title=escape(document.title),
        script_hash=source_hash(script),
        css=Template(resource("page.css")).substitute(light=palette(dark=False), dark=palette(dark=True)),
        above=f'<p class="lead">{escape(document.lead)}</p>' if document.lead else head,
        below=head if document.lead else "",
        blocks="\n".join(blocks),
        data=to_json(runs_data(document.runs)),
        js=script,
    )


def block_html(block: Table | Figure | Paragraph, number: int) -> str:
    if isinstance(block, Table):
        return table_html(block, f"table-{number}")
    if isinstance(block, Figure):
        return figure_html(block, f"plot-{number}")
    command = f"<code>{escape(block.command)}</code>" if block.command else ""
    return f"<p>{escape(block.text)}</p>{command}"


def resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def source_hash(script: str) -> str:
    """The hash by which a Content-Security-Policy allows a script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def palette(*, dark: bool) -> str:
    """The colors of the plots as CSS variables, so that plots follow the page's light or dark mode."""
    groups = COLORS_ON_DARK if dark else COLORS
    named = {name: ON_DARK[color] if dark else color for color, name in NAMES.items()}
    named |= {f"group-{number}": color for number, color in enumerate(groups)}
    return " ".join(f"--{name}: {color};" for name, color in named.items())
