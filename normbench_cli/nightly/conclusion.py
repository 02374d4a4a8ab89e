"""The end of a night: the pages are written and somebody is told.

Nothing here changes what the night found: what goes wrong is a sentence in the log and on stderr.
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
    """The pages of a night that is recorded, and what went wrong."""
    try:
        return write_pages(store, night, out), []
    except NormbenchError as error:
        logger.error("the pages of the night are missing: %s", error)
        return [], [f"the pages of the night are missing: {error}"]


def tell(document: Mapping[str, Any], command: str | None, when: str) -> list[str]:
    """Run the command of ``--notify`` if it is due; what went wrong.  document: the verdict as JSON."""
    if not command or (when == "problem" and document["exit_code"] == 0):
        return []
    problem = notify(command, document, log.folder())
    if problem:
        logger.warning(problem)
    return [problem] if problem else []


def error_json(suite: str, error: NormbenchError) -> dict[str, Any]:
    """What is told of a night that ended in an error, without a verdict."""
    line = f"{suite}: error, {' '.join(str(error).split())}"
    return {"format": FORMAT, "suite": suite, "outcome": "error", "exit_code": error.exit_code, "line": line}
