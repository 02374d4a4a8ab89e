"""10,000 cells on 200 workers that share a PostgreSQL database: what is slow, and that nothing is lost.

Each worker is a thread with a host of its own, its own connections, and no training, so that the database alone is
busy; the threads are spread over a few processes.  Every tenth is lost in the middle of a cell.  `-s` prints what was
measured.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import psutil
import pytest
from sqlalchemy import text

from normbench_cli.experiments import sharing
from normbench_cli.experiments.events import ignore
from normbench_cli.experiments.sharing import Shared
from normbench_cli.store import Store, processes, server, store
from normbench_cli.store.errors import Taken
from normbench_cli.store.queries import runs_frame
from tests.killing import CAN_FORK, FORK
from tests.postgres import Server

CELLS, WORKERS, LOSES_EVERY, PROCESSES = 10_000, 200, 10, 8
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
    """Seconds of every step, by its name; how often a worker was too late; how many were lost; processor seconds."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    late: int = 0
    lost: int = 0
    processor: float = 0.0

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds.setdefault(name, []).append(time.perf_counter() - began)

    def add(self, other: Measured) -> None:
        for name, seconds in other.seconds.items():
            self.seconds.setdefault(name, []).extend(seconds)
        self.late += other.late
        self.lost += other.lost
        self.processor += other.processor

    def lines(self) -> Iterator[str]:
        for name, seconds in self.seconds.items():
            median, late = np.percentile(seconds, [50, 99])
            total = f"{len(seconds):7,} x {name:10}"
            yield f"{total} median {1000 * median:7.1f} ms, 99 % {1000 * late:8.1f} ms, {sum(seconds):8.0f} s"


def work(number: int, cells: list[Cell], url: str, measured: Measured, lost_after: int | None) -> None:
    """What a launcher does, without training."""
    HERE.host = f"worker-{number}"
    with measured.timed("open"):
        opened = Store.open(url, sweep=False)
    with opened:
        executed = 0
        shared = Shared(cells, opened, ignore)
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
                measured.lost += 1
                opened.recorders.clear()
                return
            with measured.timed("record"):
                opened.record(run_id, {"train/loss": 1.0, "test/accuracy": 0.5}, epoch=1, step=1)
            with measured.timed("heartbeat"):
                opened.heartbeat(run_id)
            with measured.timed("end"):
                opened.end(run_id, "finished")


def work_together(numbers: Sequence[int], cells: list[Cell], url: str, seed: int, answers: Connection) -> None:
    """What a process does: a thread for each of these workers."""
    draw, measured = random.Random(seed), Measured()
    measure_connections(measured)
    lost = {number: draw.randint(1, 3) for number in numbers if number % LOSES_EVERY == 0}
    threads = [
        threading.Thread(target=work, args=(number, cells, url, measured, lost.get(number))) for number in numbers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    measured.processor = time.process_time()
    answers.send(measured)


def measure_connections(measured: Measured) -> None:
    real = server.connect_within

    def timed(seconds: float) -> Callable[..., Any]:
        connect = real(seconds)

        def measure(*words: Any) -> Any:
            with measured.timed("connect"):
                return connect(*words)

        return measure

    server.connect_within = timed


@pytest.fixture
def many_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every worker is a machine, whose loss is only known by its silence."""

    def this_process() -> processes.Process:
        return {"host": HERE.host, "pid": 1, "process_started": 1.0}

    monkeypatch.setattr(store, "this_process", this_process)
    monkeypatch.setattr(processes, "SILENCE", SILENCE)
    monkeypatch.setattr(sharing, "SECONDS_BETWEEN_POLLS", 5.0)


def run_workers(workers: int, cells: list[Cell], url: str) -> Measured:
    measured, started = Measured(), []
    for first in range(PROCESSES):
        answer, answers = FORK.Pipe(duplex=False)
        words = (range(first, workers, PROCESSES), cells, url, first, answers)
        process = FORK.Process(target=work_together, args=words)
        process.start()
        answers.close()
        started.append((process, answer))
    for process, answer in started:
        measured.add(answer.recv())
        process.join()
    return measured


def processor_seconds(postgres: Server) -> float:
    """Of the server's processes that have ended: one a connection."""
    postmaster = int((postgres.folder / "data" / "postmaster.pid").read_text().split()[0])
    times = psutil.Process(postmaster).cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


@pytest.mark.benchmark
@pytest.mark.skipif(not CAN_FORK, reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("cells", "workers"), [(200, 40), (1_000, WORKERS), (CELLS, WORKERS)])
def test_every_cell_is_executed_once(
    cells: int, workers: int, postgres_server: Server, postgres_database: str, many_hosts: None
) -> None:
    listed = [Cell(f"{number:016x}") for number in range(cells)]
    log, before = postgres_server.folder / "log", processor_seconds(postgres_server)
    refused, began = log.read_text().count("too many clients"), time.perf_counter()
    measured = run_workers(workers, listed, postgres_database)
    elapsed = time.perf_counter() - began
    used = processor_seconds(postgres_server) - before
    refused = log.read_text().count("too many clients") - refused
    with Store.open(postgres_database) as opened:
        runs = runs_frame(opened)
        with opened.reading() as session:
            committed = session.scalar(
                text("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
            )
    print(f"\n{cells:,} cells on {workers} workers, {measured.lost} of them lost; {elapsed:.0f} s")
    print("\n".join(measured.lines()))
    print(f"{committed:,} transactions, {committed / elapsed:.0f} a second; {refused:,} connections refused at first")
    print(f"processor: workers {measured.processor:.0f} s, server {used:.0f} s; {measured.late} cells were just taken")
    finished = runs[runs["status"] == "finished"]
    assert Counter(finished["fingerprint"]) == Counter(cell.fingerprint for cell in listed)
    assert measured.lost
    assert len(runs) - len(finished) == measured.lost
