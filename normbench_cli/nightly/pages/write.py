"""Writing the pages of a night, and the index over all nights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import select

from normbench_cli import disk, paths
from normbench_cli.errors import NormbenchError
from normbench_cli.nightly.history import NightSummary, read_nights
from normbench_cli.nightly.pages.index import index_document
from normbench_cli.nightly.pages.names import index_of, pages_in, stem_of
from normbench_cli.nightly.pages.night import night_document
from normbench_cli.nightly.pages.trends import ReadNight
from normbench_cli.nightly.verdict_json import read_verdict
from normbench_cli.printable import printable
from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.files import to_html
from normbench_cli.reporting.head import command
from normbench_cli.reporting.plots import draw
from normbench_cli.reporting.plots.files import file_stem, to_svg
from normbench_cli.reporting.writers.markdown import to_markdown
from normbench_cli.store import Store
from normbench_cli.store.errors import DamagedValue
from normbench_cli.store.schema import Night
from normbench_cli.version import __version__


def write_pages(store: Store, night_id: str, out: Path) -> list[Path]:
    """Write the pages, plots and index of a night that has ended; return the paths, the page in Markdown first."""
    nights = all_nights(store)
    shown = next((night for night in nights if night.summary.id == night_id), None)
    if shown is None or shown.verdict is None:
        raise NormbenchError(f"there is no verdict of night {night_id}", "see `normbench db check`")
    paths.ensure_writable(out, "--out")
    try:
        return list(written(nights, shown.summary, out, {"database": store.location.shown, **made()}))
    except OSError as error:
        raise NormbenchError(
            f"{error.filename or out} cannot be written: {error.strerror}", "choose another folder with --out"
        ) from error


def written(nights: list[ReadNight], shown: NightSummary, out: Path, head: dict[str, str]) -> Iterator[Path]:
    stem = stem_of(out, shown.day, shown.id)
    ids = [night.summary.id for night in nights]
    until = [night for night in nights[: ids.index(shown.id) + 1] if night.summary.suite == shown.suite]
    page = night_document(until, stem, head)
    brief = replace(page, blocks=[block for block in page.blocks if not is_unnamed(block)])
    yield write(out / f"{stem}.md", to_markdown(brief))
    yield write(out / f"{stem}.html", to_html(page))
    for figure in brief.blocks:
        if isinstance(figure, Figure):
            yield write(out / f"{file_stem(figure.name)}.svg", to_svg(draw(figure)))
    links = {night: f"{name}.html" for night, name in pages_in(out).items()}
    yield write(index_of(out), to_html(index_document(nights, links, head)))


def is_unnamed(block: object) -> bool:
    """Whether a block is a plot without its own file, shown in the HTML page only."""
    return isinstance(block, Figure) and not block.name


def write(path: Path, text: str) -> Path:
    disk.write_text(path, printable(text))
    return path


def made() -> dict[str, str]:
    """Which command made the page, and when."""
    return {
        "command": command(),
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC",
        "made with": f"normbench {__version__}",
    }


def all_nights(store: Store) -> list[ReadNight]:
    """The nights of all suites with their verdicts, oldest first."""
    with store.reading() as session:
        suites = session.scalars(select(Night.suite).distinct()).all()
    nights = [night for suite in suites for night in read_nights(store, suite)]
    return [with_verdict(night) for night in sorted(nights, key=lambda night: (night.started_at, night.id))]


def with_verdict(night: NightSummary) -> ReadNight:
    if not night.verdict:
        return ReadNight(night, None)
    try:
        return ReadNight(night, read_verdict(night.verdict))
    except DamagedValue as error:
        return ReadNight(replace(night, message=str(error)), None)
