"""Small databases that share runs, as copies do that went on apart, and what a merged one must equal."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from sqlalchemy import insert, select

from normbench_cli.store import Store
from normbench_cli.store.rows import facts_hash, pack
from normbench_cli.store.schema import Base, Environment, Metric, Night, NightDecision, NightValue, Run, SeriesChunk
from normbench_cli.store.status import NIGHT_STATUSES, STATUSES
from normbench_cli.store.thin import THINNED

MOMENT = datetime.fromisoformat("2026-01-31T12:00:00+00:00")
IDS = ["aaaaaaaa", "bbbbbbbb", "cccccccc"]
PROCESS = {"host": "here", "pid": 1, "process_started": 1.0}
Values = dict[str, Any]


def later(minutes: int) -> datetime:
    return MOMENT + timedelta(minutes=minutes)


@dataclass
class Content:
    """The rows of a database, without what it numbers itself."""

    runs: dict[str, Values] = field(default_factory=dict)
    metrics: list[Values] = field(default_factory=list)
    series: list[Values] = field(default_factory=list)
    nights: dict[str, Values] = field(default_factory=dict)
    values: list[Values] = field(default_factory=list)
    decisions: list[Values] = field(default_factory=list)


@st.composite
def contents(draw: st.DrawFn) -> Content:
    """Any id may be any of two runs: the same one as elsewhere in another state, or another one by chance."""
    made = Content()
    some = st.integers(0, 2)
    for run_id in draw(st.sets(st.sampled_from(IDS))):
        one = draw(st.integers(0, 1))
        made.runs[run_id] = {
            "started": one,
            "beat": one + draw(some),
            "status": draw(st.sampled_from(STATUSES)),
            "host": draw(st.sampled_from(["here", "there"])),
            "tag": draw(st.sampled_from(["", "a", "b"])),
            "details": draw(st.dictionaries(st.sampled_from(["data", "remarks"]), some, max_size=2)),
        }
        for moment in sorted(draw(st.sets(st.integers(0, 3)))):
            made.metrics.append(
                {"run_id": run_id, "epoch": moment, "value": draw(st.sampled_from([0.5, float("nan")]))}
            )
        if steps := draw(some):
            thinned = draw(st.sampled_from([None, 2]))
            made.series.append({"run_id": run_id, "count": 2 * steps, "thinned": thinned})
            made.runs[run_id]["details"] |= {THINNED: {"one_of": 2}} if thinned else {}
    for night_id in draw(st.sets(st.sampled_from(IDS[:2]))):
        made.nights[night_id] = {"started": draw(st.integers(0, 1)), "status": draw(st.sampled_from(NIGHT_STATUSES))}
        for cell in draw(st.lists(st.sampled_from(["x", "y"]), max_size=3)):
            made.values.append(
                {"night_id": night_id, "run_id": draw(st.sampled_from([None, *made.runs])), "cell": cell}
            )
    made.decisions = [{"until": until} for until in draw(st.lists(st.sampled_from(["2026-03-01", "2026-03-02"])))]
    return made


def make_database(empty: Path, path: Path, content: Content) -> Path:
    """A copy of an empty database, with these rows."""
    shutil.copy(empty, path)
    with Store.open(str(path), sweep=False, synchronous="OFF") as store, store.writing() as session:
        hosts = sorted({run["host"] for run in content.runs.values()} | {"here"}, reverse=len(content.runs) % 2 == 0)
        numbers = {}
        for host in hosts:
            session.add(made := Environment(hash=facts_hash({"host": host}), facts={"host": host}))
            session.flush()
            numbers[host] = made.id
        for run_id, run in content.runs.items():
            session.execute(insert(Run), run_row(run_id, run, numbers[run["host"]]))
        for row in content.metrics:
            session.execute(insert(Metric), metric_row(row))
        for row in content.series:
            kept = row["count"] // 2 if row["thinned"] else row["count"]
            chunk = row | {"name": "train/loss", "epoch": None, "first_step": 0, "data": pack([1.0] * kept)[1]}
            session.execute(insert(SeriesChunk), chunk)
        for night_id, night in content.nights.items():
            session.execute(insert(Night), night_row(night_id, night, numbers["here"]))
        for row in content.values:
            session.execute(insert(NightValue), value_row(row))
        for row in content.decisions:
            session.execute(insert(NightDecision), decision_row(row))
    return path


def run_row(run_id: str, run: Values, environment: int) -> Values:
    names = ("norm", "act", "model", "data", "objective")
    return {
        "id": run_id,
        "kind": "train",
        "fingerprint": f"{run['started']:016x}",
        "status": run["status"],
        "message": "",
        **dict.fromkeys(names, "x"),
        "seed": 0,
        "config": {"tag": "a", "note": ""},
        "tag": run["tag"],
        "note": "",
        "argv": [],
        "started_at": later(run["started"]),
        "heartbeat_at": later(run["beat"]),
        "finished_at": None,
        **PROCESS,
        "environment_id": environment,
        "details": run["details"],
    }


def metric_row(row: Values) -> Values:
    name = {"split": "train", "condition": "", "name": "loss", "unit": ""}
    return row | name | {"step": row["epoch"], "recorded_at": later(row["epoch"])}


def night_row(night_id: str, night: Values, environment: int) -> Values:
    return {
        "id": night_id,
        "suite": "canary",
        "day": "2026-01-31",
        "status": night["status"],
        "message": "",
        "revision": "",
        "verdict": {},
        "started_at": later(night["started"]),
        "heartbeat_at": later(5),
        "finished_at": None,
        **PROCESS,
        "environment_id": environment,
    }


def value_row(row: Values) -> Values:
    more = {"metric": "step_time_ms", "repeat": 0, "value": 1.5, "unit": "ms", "environment_class": ""}
    return row | more | {"recorded_at": MOMENT}


def decision_row(row: Values) -> Values:
    more = {"kind": "mute", "suite": "canary", "measurement": "x", "environment_class": "", "reason": ""}
    return row | more | {"author": "me", "host": "here", "made_at": MOMENT}


def sorted_keys(value: Any) -> Any:
    return json.dumps(value, sort_keys=True) if isinstance(value, dict) else value


def canonical(path: Path) -> dict[str, list[str]]:
    """All rows in an order of their own; environments by hash, rows that are only numbered without their numbers."""
    found: dict[str, list[str]] = {}
    with Store.open(str(path), write=False, sweep=False) as store, store.reading() as session:
        hashes = {row.id: row.hash for row in session.execute(select(Environment.id, Environment.hash))}
        for name, table in Base.metadata.tables.items():
            rows = []
            for row in session.execute(select(table)).mappings():
                values = dict(row)
                if isinstance(values["id"], int):
                    del values["id"]
                if "environment_id" in values:
                    values["environment_id"] = hashes[values["environment_id"]]
                rows.append(repr(sorted((key, sorted_keys(value)) for key, value in values.items())))
            found[name] = sorted(rows)
        latest = {run_id: store.latest_metrics(run_id) for run_id in session.scalars(select(Run.id))}
        found["latest"] = sorted(map(repr, latest.items()))
    return found
