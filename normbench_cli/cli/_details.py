"""The provenance of a run, as `runs show` prints it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from normbench_cli.cli._columns import Row


def detail_rows(details: Mapping[str, Any]) -> list[Row]:
    """One row per fact; diffs and lists are summarized, because --json has them whole."""
    return [{"detail": name, "value": value} for name, value in facts(details, "")]


def facts(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if prefix + name == "diff" and isinstance(value, Mapping):
            yield "diff", diff_line(value)
        elif prefix + name == "remarks" and isinstance(value, list):
            yield from (("remark", str(remark)) for remark in value)
        elif isinstance(value, Mapping):
            yield from facts(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            yield prefix + name, f"{len(value)} (--json lists them)"
        elif value not in ("", None):
            yield prefix + name, f"{value:,}" if isinstance(value, int) else str(value)


def diff_line(diff: Mapping[str, Any]) -> str:
    """``2 files changed, +10 -3, new: a.py, digest 0123456789abcdef``, and whether the text is cut."""
    new, text = diff.get("new_files") or {}, str(diff.get("text", ""))
    files = diff.get("files", 0)
    parts = [f"{files} {'file' if files == 1 else 'files'} changed, +{diff.get('added', 0)} -{diff.get('removed', 0)}"]
    if new:
        parts.append(f"new: {', '.join(new)}")
    parts.append(f"digest {diff.get('digest')}")
    whole = diff.get("characters")
    cut = isinstance(whole, int) and whole > len(text)
    return ", ".join(parts) + (f" (the text is cut after {len(text):,} of {whole:,} characters)" if cut else "")
