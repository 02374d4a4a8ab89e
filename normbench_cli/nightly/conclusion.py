"""The end of a night: its pages are written, somebody is told, and the line to be printed is made.

Nothing here changes what the night found: what goes wrong is said, and the verdict stays.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from normbench_cli.errors import EXIT_ERROR, NormbenchError
from normbench_cli.nightly import log
from normbench_cli.nightly.notify import is_due, notify
from normbench_cli.nightly.pages import write_pages
from normbench_cli.nightly.verdict import Verdict
from normbench_cli.nightly.verdict_json import verdict_json
from normbench_cli.nightly.verdict_line import verdict_line
from normbench_cli.store import Store


@dataclass(frozen=True)
class Conclusion:
    """line: for stdout.  document: the same as JSON.  problems: for stderr, a sentence each."""

    line: str
    document: dict[str, Any]
    exit_code: int
    problems: Sequence[str] = ()


def conclude(
    store: Store, verdict: Verdict, out: Path, logger: logging.Logger, command: str = "", when: str = "problem"
) -> Conclusion:
    """What to print of a night that is recorded.  command, when: of ``--notify`` and ``--notify-on``."""
    pages: list[Path] = []
    problems: list[str] = []
    try:
        pages = write_pages(store, verdict.night, out)
    except NormbenchError as error:
        problems.append(f"the pages of the night are missing: {error}")
    line, document = verdict_line(verdict, pages[0] if pages else None), verdict_json(verdict, pages)
    code = verdict.exit_code or (EXIT_ERROR if problems else 0)
    logger.info(line)
    if command and is_due(when, code):
        failed = notify(command, document, log.folder())
        problems += [failed] if failed else []
    for problem in problems:
        logger.warning(problem)
    return Conclusion(line, document, code, problems)
