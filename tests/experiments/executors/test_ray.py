"""A grid on a Ray cluster of two nodes on this machine, one of which is killed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from normbench_cli.errors import DatabaseError
from normbench_cli.experiments.events import CellState, Event, ignore
from normbench_cli.experiments.executors.choice import Choice, PerRun
from normbench_cli.experiments.executors.launch import run_works
from normbench_cli.store import Store
from normbench_cli.store.schema import Run
from tests.experiments.executors.support import works
from tests.killing import recorded_runs

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # Ray's own
CELLS, EPOCHS = 24, 10
ONE_CORE = PerRun(cpus=1.0)
EXACT = ("train/loss", "test/loss", "test/accuracy")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head without cores, and two nodes with one each."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    root = str(Path(__file__).parents[3])
    monkeypatch.setenv("RAY_worker_niceness", "0")  # by default workers give way to every other process
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]))
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    yield made
    ray.shutdown()
    made.shutdown()


def exact(results: Any) -> list[dict[str, float]]:
    return [{name: result.metrics[name] for name in EXACT} for result in results]


def kill_at_work(cluster: Any, node: Any, home: Path) -> list[Run]:
    """Kill a node with its workers if one of them is in the middle of a run; that run."""
    (raylet,) = node.all_processes["raylet"]
    workers = psutil.Process(raylet.process.pid).children(recursive=True)
    for worker in workers:
        worker.suspend()
    pids = {worker.pid for worker in workers}
    try:
        running = [run for run in recorded_runs(home) if run.status == "running" and run.pid in pids]
    except DatabaseError:  # a worker was stopped while it had the file to itself
        running = []
    if running:
        cluster.remove_node(node, allow_graceful=False)
    for worker in workers:
        with suppress(psutil.NoSuchProcess):
            worker.kill() if running else worker.resume()
    return running


def test_a_node_dies_and_every_cell_is_finished_once_with_the_numbers_of_the_local_executor(
    cluster: Any, home: Path
) -> None:
    nodes = [cluster.add_node(num_cpus=1), cluster.add_node(num_cpus=1)]
    cells = works(CELLS, epochs=EPOCHS)
    states: Counter[str] = Counter()
    killed: list[Run] = []

    def watch(event: Event) -> None:
        if isinstance(event, CellState):
            states[event.state] += 1
            if states["finished"] >= 4 and not killed:
                killed.extend(kill_at_work(cluster, nodes[1], home))

    with Store.open() as store:
        on_ray = run_works(cells, Choice("ray", per_run=ONE_CORE, address=cluster.address), store, watch)
    (lost,) = killed
    assert states["lost"] >= 1
    runs = recorded_runs(home)
    (again,) = (run for run in runs if run.id == lost.id)
    assert again.pid != lost.pid
    assert Counter(run.fingerprint for run in runs if run.status == "finished") == {
        cell.fingerprint: 1 for cell in cells
    }
    assert {result.id for result in on_ray} == {run.id for run in runs if run.status == "finished"}
    with Store.open("local.db") as store:
        local = run_works(cells, Choice("local", 2, ONE_CORE), store, ignore)
    assert exact(on_ray) == exact(local)


def test_an_address_without_a_cluster_is_one_line() -> None:
    pytest.importorskip("ray")
    from normbench_cli.errors import NormbenchError

    with Store.open() as store, pytest.raises(NormbenchError, match=r"there is no Ray cluster at 127\.0\.0\.1:1 "):
        run_works(works(), Choice("ray", per_run=ONE_CORE, address="127.0.0.1:1"), store, ignore)
