"""The log of the nights: ``logs/nightly.log`` in the home folder, rotated by size; five old logs are kept."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path

from normbench_cli import paths
from normbench_cli.printable import printable

NAME = "normbench.nightly"
LARGEST = 1_000_000  # bytes
KEPT = 5  # old logs: nightly.log.1 to nightly.log.5


class LineFormatter(logging.Formatter):
    """``2026-11-19 04:10:03 info: canary: 18 cells``, safe to show on a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        moment = self.formatTime(record, "%Y-%m-%d %H:%M:%S")
        return f"{moment} {record.levelname.lower()}: {printable(' '.join(record.getMessage().split()))}"


class QuietHandler(RotatingFileHandler):
    """A full disk stops the log, never the night: nothing is printed."""

    def handleError(self, record: logging.LogRecord) -> None:
        return


def folder() -> Path:
    """The folder of the logs."""
    return paths.home() / "logs"


@contextmanager
def night_log() -> Iterator[logging.Logger]:
    """The log, open until the night ends; an error that ends it is logged, too."""
    paths.ensure_writable(folder(), "NORMBENCH_HOME")
    handler = QuietHandler(folder() / "nightly.log", maxBytes=LARGEST, backupCount=KEPT, encoding="utf-8", delay=True)
    handler.setFormatter(LineFormatter())
    logger = logging.getLogger(NAME)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(handler)
    try:
        yield logger
    except BaseException as error:
        logger.error("%s", error or type(error).__name__)
        raise
    finally:
        logger.removeHandler(handler)
        handler.close()
