"""Offline runs for Weights & Biases, which ``wandb sync FOLDER/wandb/offline-run-*`` can upload.

Settings are the config, final metrics the summary.  Curves have the axis ``epoch``, raw series the axis ``step``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import wandb

from normbench_cli.reporting.export.recorded import STEPS, RecordedRun, Value

PROJECT = "normbench"
PLACES = ("WANDB_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR", "WANDB_ARTIFACT_DIR")
MOST_TAG_LETTERS = 64


def write_runs(runs: Iterable[RecordedRun], folder: Path) -> None:
    with nothing_elsewhere(folder):
        for run in runs:
            for earlier in (folder / "wandb").glob(f"offline-run-*-{run.id}"):
                shutil.rmtree(earlier)
            write_run(run, folder)
        wandb.teardown()


@contextmanager
def nothing_elsewhere(folder: Path) -> Iterator[None]:
    """Have wandb write its settings, caches and logs into the folder too, and contact no server."""
    before = {name: os.environ.get(name) for name in (*PLACES, "WANDB_MODE", "WANDB_SILENT")}
    os.environ.update({name: str(folder.resolve()) for name in PLACES}, WANDB_MODE="offline", WANDB_SILENT="true")
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def write_run(run: RecordedRun, folder: Path) -> None:
    written = wandb.init(
        project=PROJECT,
        id=run.id,
        name=run.name,
        notes=run.note or None,
        tags=[word[:MOST_TAG_LETTERS] for word in (run.status, run.tag) if word],
        config={**run.settings, "command": run.command, "environment": run.environment},
        dir=str(folder),
        mode="offline",
        reinit="finish_previous",
        settings=wandb.Settings(
            console="off",
            disable_code=True,
            disable_git=True,
            disable_job_creation=True,
            x_disable_machine_info=True,
            x_disable_meta=True,
            x_disable_stats=True,
            x_save_requirements=False,
        ),
    )
    written.define_metric(f"{STEPS}*", step_metric="step")
    for name in dict.fromkeys(value.name for value in run.by_epoch):
        written.define_metric(name, step_metric="epoch")
    for axis, values in (("epoch", run.by_epoch), ("step", run.by_step())):
        for at, row in rows(values):
            written.log({axis: at, **row})
    written.summary.update(run.final)
    written.finish(exit_code=0 if run.status == "finished" else 1)


def rows(values: Iterable[Value]) -> list[tuple[int, dict[str, float]]]:
    """The values of each epoch or step, in order."""
    found: dict[int, dict[str, float]] = {}
    for value in values:
        found.setdefault(value.at, {})[value.name] = value.value
    return sorted(found.items())
