"""The end of a night: write the pages and notify.

Nothing here changes the night's findings: a problem is one sentence in the log and on stderr.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from normbench_cli.errors import NormbenchError
from normbench_cli.nightly import log
from normbench_cli.nightly.notify import notify
from normbench_cli.nightly.pages import write_pages
from normbench_cli.nightly.verdict_json import FORMAT
from normbench_cli.store import Store

logger = logging.getLogger(log.NAME)


def try_pages(store: Store, night: str, out: Path) -> tuple[list[Path], list[str]]:
    """Write the pages of a recorded night; return them, and what went wrong."""
    try:
        return write_pages(store, night, out), []
    except NormbenchError as error:
        logger.error("the pages of the night are missing: %s", error)
        return [], [f"the pages of the night are missing: {error}"]


def tell(document: Mapping[str, Any], command: str | None, when: str) -> list[str]:
    """Run the ``--notify`` command if it is due; return what went wrong.  document: the verdict as JSON."""
    if not command or (when == "problem" and document["exit_code"] == 0):
        return []
    problem = notify(command, document, log.folder())
    if problem:
        logger.warning(problem)
    return [problem] if problem else []


def error_json(suite: str, error: NormbenchError) -> dict[str, Any]:
    """The notification for a night that ended in an error, without a verdict."""
    line = f"{suite}: error, {' '.join(str(error).split())}"
    return {"format": FORMAT, "suite": suite, "outcome": "error", "exit_code": error.exit_code, "line": line}
