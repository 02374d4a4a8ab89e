"""The head of a report: what is needed to reproduce it."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from normbench_cli.printable import masked
from normbench_cli.store import Store
from normbench_cli.store.queries import environment_facts
from normbench_cli.version import __version__

MOST_IDS = 20  # runs that are listed one by one


def make_head(store: Store, runs: pd.DataFrame) -> dict[str, str]:
    """runs: those that the report is based on."""
    return {
        "command": command(),
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC",
        "database": store.location.shown,
        "runs": described_runs(runs),
        "versions": f"normbench {__version__}, Python {platform.python_version()}, pandas {pd.__version__}",
        "runs made with": described_versions(environment_facts(store, runs["id"].tolist())),
    }


def command() -> str:
    """The command line, or a note that the report was made from Python."""
    name = Path(sys.argv[0]).name if sys.argv else ""
    called = name in ("normbench", "__main__.py")
    return masked(shlex.join(["normbench", *sys.argv[1:]])) if called else "called from Python"


def described_runs(runs: pd.DataFrame) -> str:
    """How many of each status, when they were started, and their ids if they are few."""
    if runs.empty:
        return "none"
    counts = ", ".join(f"{count} {status}" for status, count in runs["status"].value_counts().items())
    first, last = (f"{moment:%Y-%m-%d}" for moment in (runs["started_at"].min(), runs["started_at"].max()))
    started = first if first == last else f"{first} to {last}"
    ids = f": {' '.join(runs['id'])}" if len(runs) <= MOST_IDS else ""
    return f"{len(runs)} ({counts}), started {started}{ids}"


def described_versions(facts: Iterable[dict[str, object]]) -> str:
    """The versions of normbench and torch that made the runs."""
    found: dict[str, None] = {}
    for one in facts:
        versions = one.get("versions")
        torch = versions.get("torch", "?") if isinstance(versions, dict) else "?"
        found[
            f"normbench {one.get('normbench', '?')} {str(one.get('git_sha', ''))[:9]}".strip() + f", torch {torch}"
        ] = None
    return "; ".join(sorted(found)) or "none"
