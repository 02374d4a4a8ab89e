"""Saving the checkpoints of a run.  If one cannot be written, training goes on and the previous one is kept."""

from __future__ import annotations

import logging

from normbench_cli import paths
from normbench_cli.build import ResolvedConfig
from normbench_cli.disk import DiskFull
from normbench_cli.engine import checkpoint
from normbench_cli.engine.training import Training
from normbench_cli.interrupts import held_back
from normbench_cli.printable import printable
from normbench_cli.store import Store

log = logging.getLogger(__name__)


class Checkpoints:
    """The checkpoints of one run."""

    def __init__(self, run_id: str, store: Store) -> None:
        self._run_id = run_id
        self._store = store
        self._failed = False

    def save(self, training: Training, config: ResolvedConfig) -> None:
        """Save a checkpoint, unless records before it are still in memory only.  A failure is logged once, and again
        for the last checkpoint, which other commands need."""
        with held_back():
            # otherwise a power cut could leave a checkpoint without the records before it
            problem = self._write(training, config) if self._store.sync() else "records before it are not written yet"
        last = training.step >= training.steps
        if problem and (last or not self._failed):
            what = "has no final checkpoint" if last else "goes on without new checkpoints"
            log.warning(printable(f"run {self._run_id} {what}: {problem}"))
        self._failed = bool(problem)

    def _write(self, training: Training, config: ResolvedConfig) -> str:
        """Write the checkpoint; return the reason if that fails, otherwise an empty string."""
        folder, home = paths.run_folder(self._run_id), paths.home()
        if not home.is_dir():  # it may come back later, so it is not created again
            return f"the folder {home} has disappeared"
        try:
            checkpoint.save(folder, training.step, {**training.state_dict(), "config": config.to_dict()})
        except DiskFull as error:
            return str(error)
        except OSError as error:
            return f"{error.filename or folder} cannot be written: {error.strerror}"
        return ""
