"""The file names of a night's pages: ``nightly-2026-11-19``, with a number if another night has that name.

A page says which night it shows, so that making it again replaces it, and nothing else is ever replaced.
"""

from __future__ import annotations

import re
from datetime import date
from itertools import count
from pathlib import Path

NIGHT = re.compile(r"^- night: (\w+)$", re.MULTILINE)
FORMS = (".md", ".html")
INDEX, OTHER_INDEX = "index.html", "nightly.html"
OWN = '<meta name="generator" content="normbench">'


def pages_in(folder: Path) -> dict[str, str]:
    """The stems of the pages in a folder, by night id."""
    found: dict[str, str] = {}
    for path in sorted(folder.glob("nightly-*.md")):
        ids = NIGHT.findall(path.read_text(encoding="utf-8", errors="replace"))
        found |= {ids[-1]: path.stem} if ids else {}
    return found


def stem_of(folder: Path, day: date, night: str) -> str:
    """The stem of the night's pages: the existing one, or the first free one."""
    known = pages_in(folder).get(night)
    if known:
        return known
    stems = (f"nightly-{day}" + (f"-{number}" if number > 1 else "") for number in count(1))
    return next(stem for stem in stems if not any((folder / f"{stem}{form}").exists() for form in FORMS))


def index_of(folder: Path) -> Path:
    """The path of the index: index.html, unless somebody else's file has that name."""
    path = folder / INDEX
    if path.exists() and OWN not in path.read_text(encoding="utf-8", errors="replace"):
        return folder / OTHER_INDEX
    return path
