"""Many runs entered in one transaction, where tests need more than the program would record in their time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import insert

from normbench_cli.config import GRID_FIELDS
from normbench_cli.store import Store
from normbench_cli.store.rows import metric_rows
from normbench_cli.store.schema import Environment, Metric, Run

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class MadeRun:
    """Settings, and the metrics of each epoch."""

    settings: dict[str, Any]
    epochs: Sequence[Mapping[str, float]] = ()
    status: str = "finished"


def enter_runs(store: Store, runs: Iterable[MadeRun]) -> None:
    rows, metrics = [], []
    for number, run in enumerate(runs):
        run_id = f"{number:08x}"
        rows.append(run_row(run_id, run, MOMENT + timedelta(seconds=number)))
        for epoch, values in enumerate(run.epochs, start=1):
            metrics += metric_rows(run_id, values, epoch, epoch)
    with store.writing() as session:
        session.add(Environment(id=1, hash="", facts={}))
        session.flush()
        session.execute(insert(Run), rows)
        for start in range(0, len(metrics), 100_000):
            session.execute(insert(Metric), metrics[start : start + 100_000])


def run_row(run_id: str, run: MadeRun, moment: datetime) -> dict[str, Any]:
    settings = {"epochs": len(run.epochs)} | run.settings
    columns = {name: settings.get(name, "") for name in (*GRID_FIELDS, "tag", "note")}
    return {
        "id": run_id,
        "kind": "train",
        "fingerprint": run_id,
        "status": run.status,
        "message": "",
        "seed": settings.get("seed"),
        "config": settings,
        "argv": [],
        "host": "",
        "pid": 0,
        "process_started": 0.0,
        "environment_id": 1,
        **dict.fromkeys(("started_at", "heartbeat_at", "finished_at"), moment),
        **columns,
    }
