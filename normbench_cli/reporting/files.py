"""Reports as files: the formats by name, and the handling of files that already exist."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path

from normbench_cli import disk, paths
from normbench_cli.errors import NormbenchError, UsageError
from normbench_cli.printable import printable
from normbench_cli.registry.spec import suggest
from normbench_cli.reporting.document import Document, Figure
from normbench_cli.reporting.plots import write_figure
from normbench_cli.reporting.writers.data import to_csv, to_json
from normbench_cli.reporting.writers.latex import to_latex
from normbench_cli.reporting.writers.markdown import to_markdown


def to_html(document: Document) -> str:
    from normbench_cli.reporting.html import to_html as make_page

    return make_page(document)


def require_parquet() -> None:
    if find_spec("pyarrow") is None:
        raise UsageError("--format parquet needs the package pyarrow", 'pip install "normbench[parquet]"')


def to_parquet(document: Document) -> bytes:
    from normbench_cli.reporting.writers import parquet

    return parquet.to_parquet(document)


FORMATS: dict[str, Callable[[Document], str | bytes]] = {
    "md": to_markdown,
    "latex": to_latex,
    "html": to_html,
    "csv": to_csv,
    "json": to_json,
    "parquet": to_parquet,
}
SUFFIXES = {"latex": "tex"}
ALIASES = {"markdown": "md", "tex": "latex"}


def parse_formats(text: str) -> list[str]:
    """``md,csv`` -> the names of the formats, each once, checked."""
    given = [name.strip().lower() for name in text.split(",") if name.strip()]
    names = list(dict.fromkeys(ALIASES.get(name, name) for name in given))
    for name in names:
        if name not in FORMATS:
            raise UsageError(f"--format {name} is not a format", suggest(name, list(FORMATS)))
    if "parquet" in names:
        require_parquet()
    return names


def write_files(document: Document, folder: Path, formats: Sequence[str], stem: str = "report") -> Iterator[str]:
    """Write ``report.<format>`` for each format, and the files of each figure; yield a line for each file: its path,
    and whether it replaces an earlier one."""
    figures = [block for block in document.blocks if isinstance(block, Figure)]
    if not formats and not figures:
        return
    paths.ensure_writable(folder, "--out")
    started = datetime.now().timestamp()
    earlier = {path.name: path.stat().st_mtime for path in folder.iterdir() if path.is_file()}
    try:
        for name in formats:
            content = FORMATS[name](document)
            path = folder / f"{stem}.{SUFFIXES.get(name, name)}"
            disk.write_bytes(path, content if isinstance(content, bytes) else printable(content).encode())
            yield line_of(path, earlier, started)
        for figure in figures:
            for path in write_figure(figure, folder):
                yield line_of(path, earlier, started)
    except OSError as error:
        raise NormbenchError(
            f"{error.filename or folder} cannot be written: {error.strerror}", "choose another folder with --out"
        ) from error


def line_of(path: Path, earlier: dict[str, float], started: float) -> str:
    """A path, and the time of the file that it replaces."""
    before = earlier.get(path.name)
    if before is None or before >= started:
        return str(path)
    return f"{path} (replaces the one of {datetime.fromtimestamp(before):%Y-%m-%d %H:%M:%S})"
