"""The package's source, parsed once for all tests that read it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "normbench_cli"
FILES = sorted(PACKAGE.rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(text(path))


@cache
def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def place(path: Path) -> str:
    """The path inside the package."""
    return path.relative_to(PACKAGE).as_posix()
