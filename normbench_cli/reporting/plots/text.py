"""Names from the database as text in a plot."""

from __future__ import annotations

import re


def plain(text: str) -> str:
    """The text without characters that an SVG file cannot hold; a leading underscore would hide it in a legend."""
    shown = "".join(char if char.isprintable() else " " for char in text)
    return f" {shown}" if shown.startswith("_") else shown


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most this width, broken after spaces and commas; a longer word is broken anywhere."""
    lines = [""]
    for piece in re.split(r"(?<=[ ,])", plain(text)):
        if len(lines[-1]) + len(piece.rstrip()) > width and lines[-1]:
            lines.append("")
        whole = lines.pop() + piece
        while len(whole.rstrip()) > width:
            lines.append(whole[:width])
            whole = whole[width:]
        lines.append(whole)
    return [line.rstrip() for line in lines]
