"""An SQLite database for MLflow: ``mlflow ui --backend-store-uri sqlite:///FOLDER/mlflow.db``.

Settings are parameters, facts about code and machine are tags.  Characters that MLflow refuses in a metric's name
become underscores.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from normbench_cli.reporting.export.recorded import RecordedRun, Value

# read when mlflow is imported: it would contact a server, and log each table that it creates
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")

import mlflow
from mlflow.entities import Metric, Param, RunTag

EXPERIMENT = "normbench"
RUN = "normbench.run"  # the tag with our run id: MLflow assigns its own ids
REFUSED = re.compile(r"[^\w\-. /:]")
STATUSES = {"finished": "FINISHED", "running": "RUNNING", "interrupted": "KILLED"}  # any other one is FAILED
MOST_METRICS, MOST_PARAMS, MOST_LETTERS = 1000, 100, 5000  # per call, and per value


def write_runs(runs: Iterable[RecordedRun], folder: Path) -> None:
    client = mlflow.MlflowClient(f"sqlite:///{(folder / 'mlflow.db').resolve()}")
    found = client.get_experiment_by_name(EXPERIMENT)
    artifacts = (folder / "artifacts").resolve().as_uri()
    experiment = found.experiment_id if found else client.create_experiment(EXPERIMENT, artifacts)
    for run in runs:
        for earlier in client.search_runs([experiment], f"tags.`{RUN}` = '{run.id}'"):
            client.delete_run(earlier.info.run_id)
        write_run(run, client, experiment)


def write_run(run: RecordedRun, client: mlflow.MlflowClient, experiment: str) -> None:
    tags = {RUN: run.id, "status": run.status, "tag": run.tag, "note": run.note, "command": run.command}
    created = client.create_run(experiment, start_time=milliseconds(run.started), run_name=run.name)
    run_id = created.info.run_id
    for some in chunks([RunTag(name, text(value)) for name, value in (run.environment | tags).items()], MOST_PARAMS):
        client.log_batch(run_id, tags=some)
    for some in chunks([Param(name, text(value)) for name, value in run.settings.items()], MOST_PARAMS):
        client.log_batch(run_id, params=some)
    for some in chunks([metric(value) for value in (*run.by_epoch, *run.once(), *run.by_step())], MOST_METRICS):
        client.log_batch(run_id, metrics=some)
    client.set_terminated(run_id, STATUSES.get(run.status, "FAILED"), milliseconds(run.ended))


def metric(value: Value) -> Metric:
    return Metric(REFUSED.sub("_", value.name), value.value, milliseconds(value.time), value.at)


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def text(value: Any) -> str:
    return str(value)[:MOST_LETTERS]


def chunks(values: Sequence[Any], size: int) -> Iterator[list[Any]]:
    left = iter(values)
    while some := list(islice(left, size)):
        yield some
