"""A figure as files: the plot as SVG and PNG, and the numbers it shows as CSV."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO

import matplotlib.figure

from normbench_cli import disk
from normbench_cli.printable import printable
from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.plots.drawing import plot_style
from normbench_cli.reporting.plots.kinds import draw_kind

DOTS = 300  # per inch, of a PNG
METADATA = {"svg": {"Date": None, "Creator": "normbench"}, "png": {"Software": "normbench"}}


def write_figure(figure: Figure, folder: Path) -> Iterator[Path]:
    """Write ``<name>.svg``, ``.png`` and ``.csv``; yield each path written."""
    folder.mkdir(parents=True, exist_ok=True)
    plot = draw_kind(figure).plot
    for form in METADATA:
        path = folder / f"{file_stem(figure.name)}.{form}"
        disk.write_whole(path, partial(save, plot, form))
        yield path
    numbers = folder / f"{file_stem(figure.name)}.csv"
    points = figure.points.drop(columns="runs", errors="ignore")
    disk.write_text(numbers, printable(points.to_csv(index=False, lineterminator="\n")))
    yield numbers


def file_stem(name: str) -> str:
    """The name without characters that are special to a shell or a file system."""
    return re.sub(r"[^\w.-]+", "_", name)


def save(plot: matplotlib.figure.Figure, form: str, stream: IO[bytes]) -> None:
    with plot_style():
        plot.savefig(stream, format=form, dpi=72 if form == "svg" else DOTS, metadata=METADATA[form])


def to_svg(plot: matplotlib.figure.Figure) -> str:
    """The plot as an SVG document."""
    stream = io.BytesIO()
    save(plot, "svg", stream)
    return stream.getvalue().decode()
