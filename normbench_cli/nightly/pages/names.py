"""What the pages of a night are called: ``nightly-2026-11-19``, or with a number where that is another night's.

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
    """The stems of the pages in a folder, by the id of their night."""
    found: dict[str, str] = {}
    for path in sorted(folder.glob("nightly-*.md")):
        ids = NIGHT.findall(path.read_text(encoding="utf-8", errors="replace"))
        found |= {ids[-1]: path.stem} if ids else {}
    return found


def stem_of(folder: Path, day: date, night: str) -> str:
    """The stem of the night's pages: the one they have, or else the first that is free."""
    known = pages_in(folder).get(night)
    if known:
        return known
    stems = (f"nightly-{day}" + (f"-{number}" if number > 1 else "") for number in count(1))
    return next(stem for stem in stems if not any((folder / f"{stem}{form}").exists() for form in FORMS))


def index_of(folder: Path) -> Path:
    """Where the index goes: index.html, unless that is a page of somebody else's."""
    path = folder / INDEX
    if path.exists() and OWN not in path.read_text(encoding="utf-8", errors="replace"):
        return folder / OTHER_INDEX
    return path
