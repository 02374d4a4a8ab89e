"""10,000 cells on 200 workers that share a PostgreSQL database: what is slow, and that nothing is lost.

Each worker is a thread with a host of its own, its own connections, and no training, so that the database alone is
busy.  Every tenth is lost in the middle of a cell.  `-s` prints what was measured.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text

from normbench_cli.experiments import sharing
from normbench_cli.experiments.events import ignore
from normbench_cli.experiments.sharing import Shared
from normbench_cli.store import Store, processes, store
from normbench_cli.store.errors import Taken
from normbench_cli.store.queries import runs_frame
from tests.postgres import Server

CELLS, WORKERS, LOSES_EVERY = 10_000, 200, 10
SILENCE = timedelta(seconds=30)  # in place of minutes
FACTS = {"torch": "2.13.0"}
HERE = threading.local()


@dataclass(frozen=True)
class Cell:
    fingerprint: str
    run_id: str = ""
    status: str = "new"


@dataclass
class Measured:
    """Seconds of every step, by its name; how often a worker was too late."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    late: int = 0

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds.setdefault(name, []).append(time.perf_counter() - began)

    def table(self, elapsed: float) -> str:
        lines = []
        for name, seconds in self.seconds.items():
            median, late = np.percentile(seconds, [50, 99])
            total = f"{len(seconds):7,} x {name:10}"
            lines.append(f"{total} median {1000 * median:7.1f} ms, 99 % {1000 * late:8.1f} ms, {sum(seconds):8.0f} s")
        return "\n".join([*lines, f"{elapsed:.0f} s, {self.late} cells were taken a moment before"])


def work(number: int, cells: list[Cell], url: str, measured: Measured, lost_after: int | None) -> None:
    """What a launcher does, without training."""
    HERE.host = f"worker-{number}"
    with Store.open(url, sweep=False) as opened:
        shared = Shared(cells, opened, ignore)
        executed = 0
        for cell, other in shared:
            if other is not None:
                continue
            try:
                with measured.timed("reserve"):
                    run_id = opened.begin({"seed": number}, cell.fingerprint, FACTS, argv=[], instead_of="")
            except Taken:
                measured.late += 1
                shared.put_back(cell)
                continue
            executed += 1
            if executed == lost_after:
                opened.recorders.clear()
                return
            with measured.timed("record"):
                opened.record(run_id, {"train/loss": 1.0, "test/accuracy": 0.5}, epoch=1, step=1)
            with measured.timed("heartbeat"):
                opened.heartbeat(run_id)
            with measured.timed("end"):
                opened.end(run_id, "finished")


@pytest.fixture
def many_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every worker is a machine, whose loss is only known by its silence."""

    def this_process() -> processes.Process:
        return {"host": HERE.host, "pid": 1, "process_started": 1.0}

    monkeypatch.setattr(store, "this_process", this_process)
    monkeypatch.setattr(processes, "SILENCE", SILENCE)
    monkeypatch.setattr(sharing, "SECONDS_BETWEEN_LOOKS", 5.0)


@pytest.fixture
def connects(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that each connection took."""
    from normbench_cli.store import server

    seconds, real = list[float](), server.connect_within

    def timed(patience: float) -> Callable[..., Any]:
        connect = real(patience)

        def measure(*words: Any) -> Any:
            began = time.perf_counter()
            try:
                return connect(*words)
            finally:
                seconds.append(time.perf_counter() - began)

        return measure

    monkeypatch.setattr(server, "connect_within", timed)
    return seconds


@pytest.mark.benchmark
@pytest.mark.parametrize(("cells", "workers"), [(200, 40), (1_000, WORKERS), (CELLS, WORKERS)])
def test_every_cell_is_executed_once(
    cells: int, workers: int, postgres_server: Server, postgres_database: str, many_hosts: None, connects: list[float]
) -> None:
    draw, measured = random.Random(0), Measured()
    listed = [Cell(f"{number:016x}") for number in range(cells)]
    lost = {number: draw.randint(1, 10) for number in range(workers) if number % LOSES_EVERY == 0}
    threads = [
        threading.Thread(target=work, args=(number, listed, postgres_database, measured, lost.get(number)))
        for number in range(workers)
    ]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    elapsed = time.perf_counter() - began
    with Store.open(postgres_database) as opened:
        runs = runs_frame(opened)
        with opened.reading() as session:
            committed = session.scalar(
                text("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
            )
    finished = runs[runs["status"] == "finished"]
    assert Counter(finished["fingerprint"]) == Counter(cell.fingerprint for cell in listed)
    assert len(runs) - len(finished) == len(lost)
    measured.seconds["connect"] = connects
    print(f"\n{cells:,} cells on {workers} workers, {len(lost)} of them lost; {committed:,} transactions")
    print(measured.table(elapsed))
