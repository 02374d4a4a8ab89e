"""Recorded runs in the files of other tools: TensorBoard, Weights & Biases, MLflow.

Each tool has a module here that writes with the tool's own library, offline and without an account::

    write_runs(runs, folder)     runs: `recorded.RecordedRun`, for every tool

A run keeps its id; exporting it again replaces the earlier export.  Curves by epoch have the epoch as their step, raw
series the training step; the latter are named ``steps/train/loss``, because a metric and a series may share a name.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from normbench_cli import paths
from normbench_cli.errors import NormbenchError, UsageError
from normbench_cli.registry.spec import suggest
from normbench_cli.reporting.export.recorded import read_runs
from normbench_cli.store import Store

TOOLS = ("tensorboard", "wandb", "mlflow")  # the names of the modules here, of the libraries and of the extras


def require(tool: str) -> None:
    """Raise for an unknown tool, or one whose library is not installed."""
    if tool not in TOOLS:
        raise UsageError(f"--to {tool} is not a tool that reports can be written for", suggest(tool, list(TOOLS)))
    if find_spec(tool) is None:
        what = f"--to {tool} needs the library {tool}, which is not installed"
        raise NormbenchError(what, f'pip install "normbench[{tool}]"')


def export_runs(run_ids: Sequence[str], tool: str, folder: Path, db: str | None = None) -> int:
    """Write these runs of a database for a tool; return their number."""
    require(tool)
    paths.ensure_writable(folder, "--to")
    with Store.open(db, write=False) as store:
        import_module(f"{__name__}.{tool}").write_runs(read_runs(store, run_ids), folder)
    return len(run_ids)
