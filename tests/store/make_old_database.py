"""Write a database of the present schema as SQL text, `tests/store/old/<HEAD>.sql`, for the tests of later schemas.

    python -m tests.store.make_old_database

Run this once after adding a migration; from then on the file stays as it is.  It has a run of every kind and status,
with every sort of value that a column may hold.  Nothing in it depends on the clock, the machine or a random number.
"""

from __future__ import annotations

import re
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

from sqlalchemy import insert

from normbench_cli.store import Store
from normbench_cli.store.location import parse_location
from normbench_cli.store.rows import Row, metric_rows, series_row
from normbench_cli.store.schema import HEAD, Environment, Metric, Night, NightDecision, NightValue, Run, SeriesChunk
from normbench_cli.store.status import NIGHT_STATUSES, STATUSES
from normbench_cli.store.upgrade import upgrade

OLD = Path(__file__).parent / "old"
KINDS = ("train", "profile")
MOMENT = datetime.fromisoformat("2026-01-31T12:00:00+00:00")
SETTINGS = {"act": "sigmoid", "model": "resnet20", "data": "digits", "objective": "erm"}
TAG = {"tag": "old", "note": 'it\'s a "note",\nin two lines: 1 ± 2'}
EPOCHS: list[dict[str, float]] = [
    {"train/loss": 1.0, "test/accuracy": 0.47, "test/accuracy@gaussian": 0.25, "step_time_ms": 12.5},
    {"train/loss": 0.5, "test/accuracy": 0.97, "test/accuracy@gaussian": 0.5, "step_time_ms": 12.5},
]
STEP_TIMES = [[12.0, 12.5, 13.0], [11.0, float("nan"), 12.0]]  # of two epochs
DETAILS = {"data": {"name": "digits", "classes": 10, "splits": {"train": 1500, "test": 297}}, "remarks": ["1 ± 2"]}
NOT_FINITE = {"train/loss": float("nan"), "gradient_norm": float("inf"), "lowest": float("-inf")}


def run_id(kind: str, status: str) -> str:
    """Ids that begin alike in each kind: 0a..., 0b..."""
    return f"0{'ab'[KINDS.index(kind)]}{STATUSES.index(status):06x}"


def run_rows() -> Iterator[Row]:
    for number, (kind, status) in enumerate(product(KINDS, STATUSES)):
        settings: dict[str, Any] = {"norm": "popnorm:kappa=4", **SETTINGS, "seed": number, **TAG}
        config = settings | {"epochs": 2, "iterations": None, "batch_size": 64, "lr": 0.1}
        yield {
            "id": run_id(kind, status),
            "kind": kind,
            "fingerprint": f"{number:016x}",
            "status": status,
            "message": "" if status in ("running", "finished") else f"the run is {status}",
            **settings,
            "config": config | ({"shapes": [[8, 16], [2, 3, 4, 4]]} if kind == "profile" else {}),
            "argv": [kind, "--norm", "popnorm:kappa=4"],
            "started_at": MOMENT + timedelta(minutes=number),
            "heartbeat_at": MOMENT + timedelta(hours=1),
            "finished_at": None if status == "running" else MOMENT + timedelta(hours=1),
            "host": "laptop",
            "pid": 4242,
            "process_started": 1769860000.5,
            "environment_id": 1 + number % 2,
            "details": DETAILS if status == "finished" else {},
        }


def metrics() -> Iterator[Row]:
    for epoch, values in enumerate(EPOCHS, start=1):
        yield from metric_rows(run_id("train", "finished"), values, epoch, 3 * epoch)
    yield from metric_rows(run_id("train", "finished"), {"test/accuracy@bim:eps=0.03": 0.125}, None, 6)
    yield from metric_rows(run_id("train", "diverged"), NOT_FINITE, 1, 3)
    yield from metric_rows(run_id("profile", "finished"), {"step_time_ms@8x16": 1.5}, None, None)


def chunks() -> Iterator[Row]:
    for epoch, times in enumerate(STEP_TIMES, start=1):
        yield series_row(run_id("train", "finished"), "step_time_ms", times, epoch, 3 * epoch)
    yield series_row(run_id("profile", "finished"), "step_time_ms@8x16", [1.0, 1.5, 2.0], None, None)
    yield series_row(run_id("train", "failed"), "lr", [0.5, 0.25], 1, 2) | {"count": 4, "thinned": 2}


def night_rows() -> Iterator[Row]:
    for number, status in enumerate(NIGHT_STATUSES):
        yield {
            "id": f"0c{number:06x}",
            "suite": "canary",
            "day": f"2026-01-{28 + number}",
            "status": status,
            "message": "",
            "revision": f"{number:040x}",
            "verdict": {"verdict": "fine"} if status == "finished" else {},
            "started_at": MOMENT + timedelta(days=number),
            "heartbeat_at": MOMENT + timedelta(days=number, minutes=5),
            "finished_at": MOMENT + timedelta(days=number, minutes=5) if status == "finished" else None,
            "host": "laptop",
            "pid": 4242,
            "process_started": 1769860000.5,
            "environment_id": 1,
        }


def night_value_rows() -> Iterator[Row]:
    runs = (run_id("profile", "finished"), None)  # the second has been deleted
    for night, run, (repeat, value) in product(night_rows(), runs, enumerate((1.5, float("nan"), float("inf")))):
        yield {
            "night_id": night["id"],
            "run_id": run,
            "cell": "popnorm 8x16" if run else "augnorm 8x16",
            "metric": "step_time_ms",
            "repeat": repeat,
            "value": value,
            "unit": "ms",
            "environment_class": f"{1:016x}",
            "recorded_at": MOMENT,
        }


def decision_rows() -> Iterator[Row]:
    for kind, until in (("accept", ""), ("mute", "2026-02-28")):
        yield {
            "kind": kind,
            "suite": "canary",
            "measurement": "popnorm 8x16 step_time_ms",
            "environment_class": "" if kind == "mute" else f"{1:016x}",
            "until": until,
            "reason": "it's slower, and right",
            "author": "somebody",
            "host": "laptop",
            "made_at": MOMENT,
        }


def make_database(path: Path) -> None:
    upgrade(parse_location(str(path)))
    with Store.open(str(path), sweep=False) as store, store.writing() as session:
        for number, host in enumerate(("laptop", "server"), start=1):
            facts = {"host": host, "versions": {"torch": "2.9.0"}}
            session.add(Environment(id=number, hash=f"{number:064x}", facts=facts))
        session.flush()
        session.execute(insert(Run), list(run_rows()))
        session.execute(insert(Metric), [row | {"recorded_at": MOMENT} for row in metrics()])
        session.execute(insert(SeriesChunk), [{"thinned": None, **row} for row in chunks()])
        session.execute(insert(Night), list(night_rows()))
        session.execute(insert(NightValue), list(night_value_rows()))
        session.execute(insert(NightDecision), list(decision_rows()))


def make_sql() -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "old.db"
        make_database(path)
        with closing(sqlite3.connect(path)) as connection:
            sql = "\n".join(connection.iterdump()) + "\n"
    return re.sub(r"(?<=,)(-?)Inf(?=[,)])", r"\g<1>9e999", sql)  # iterdump writes infinities as no SQL can read them


def main() -> None:
    path = OLD / f"{HEAD}.sql"
    path.write_text(make_sql(), encoding="utf-8")
    print(f"written: {path}", file=sys.stderr)


if __name__ == "__main__":
    main()
