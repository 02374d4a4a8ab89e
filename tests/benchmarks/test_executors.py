"""What an executor adds to a cell, and how much faster a grid is by several processes.

Run alone, on a machine that does nothing else:

    pytest -m benchmark tests/benchmarks/test_executors.py -s
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from normbench_cli.experiments.events import ignore
from normbench_cli.experiments.executors.choice import Choice, PerRun
from normbench_cli.experiments.executors.launch import run_works
from normbench_cli.store import Store
from tests.experiments.executors.napping import SECONDS, naps

pytestmark = [pytest.mark.benchmark, pytest.mark.filterwarnings("ignore")]  # Ray's own
ROOT = Path(__file__).parents[2]
WORKERS = 2
CELLS = {"local": 200, "ray": 200, "submitit": 24}  # a job of submitit starts Python and loads torch
MOST_LOCALLY = 0.3
MOST_TOGETHER = 1.5  # times one cell's time, for two that compile the same kernels


@pytest.mark.parametrize("executor", CELLS)
def test_what_an_executor_adds_to_a_cell(executor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds of a worker for each cell, beyond the cell's own tenth of a second; starting the workers is included."""
    if executor != "local":
        pytest.importorskip(executor)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    cells = naps(CELLS[executor])
    began = time.perf_counter()
    with Store.open() as store:
        results = run_works(cells, Choice(executor, WORKERS, PerRun(cpus=1.0)), store, ignore)
    seconds = time.perf_counter() - began
    added = WORKERS * seconds / len(cells) - SECONDS
    print(f"\n{executor}: {len(cells)} cells in {seconds:.1f} s by {WORKERS} workers, {added:.3f} s added to each")
    assert [result.status for result in results] == ["finished"] * len(cells)
    assert executor != "local" or added < MOST_LOCALLY


LOCAL = ["--executor", "local", "--per-run", "cpus=1"]
NORMS = ["batchnorm", "popnorm", "augnorm:phi=1.5"]
AT_LEAST = 1.5  # times as fast as one cell after the other, a process and a thread each; and as 24 commands
OVER_TWO_THREADS = {"mlp": 1.5, "resnet20": 1.1}  # as one command that runs cell after cell on two threads
# mlp: 1.32 measured.  A cell takes 1.2 to 1.6 times as long on one thread, so that 1.25 to 1.67 is all there is.
GRIDS = {"mlp": ["--model", "mlp", "--epochs", "15", "--batch-size", "32"], "resnet20": ["--epochs", "2"]}


def seconds_of(home: Path, *words: str) -> float:
    """A command in a fresh home, with the kernels that an earlier one has compiled."""
    environment = {**os.environ, "NORMBENCH_HOME": str(home), "PYTHONPATH": str(ROOT)}
    environment["TORCHINDUCTOR_CACHE_DIR"] = str(home.parent / "kernels")
    began = time.perf_counter()
    command = [sys.executable, "-m", "normbench_cli", "train", *words, "-q"]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


@pytest.mark.parametrize("model", GRIDS)
def test_a_grid_of_24_cells_on_two_cores_is_faster_by_two_processes(model: str, tmp_path: Path) -> None:
    words, grid, seeds = GRIDS[model], ["--norm", ",".join(NORMS), *GRIDS[model]], ["--seeds", "0-7"]
    for threads in ([*LOCAL, "--jobs", "1"], []):  # a kernel is for its threads
        seconds_of(tmp_path / f"first{len(threads)}", *grid, "--epochs", "1", "--seeds", "0", *threads)
    seconds = {
        "24 commands": 8
        * sum(seconds_of(tmp_path / "commands", "--norm", norm, *words, "--seeds", "0") for norm in NORMS),
        "one process, two threads": seconds_of(tmp_path / "plain", *grid, *seeds),
        "one process, one thread": seconds_of(tmp_path / "one", *grid, *seeds, *LOCAL, "--jobs", "1"),
    }
    local = seconds_of(tmp_path / "two", *grid, *seeds, *LOCAL, "--jobs", "2")
    print(f"\n{model}: two processes, a thread each: {local:.1f} s")
    for name, took in seconds.items():
        print(f"{name}: {took:.1f} s, {took / local:.2f} times as long")
    assert seconds["one process, one thread"] / local >= AT_LEAST
    assert seconds["24 commands"] / local >= AT_LEAST
    assert seconds["one process, two threads"] / local >= OVER_TWO_THREADS[model]


def test_processes_that_compile_the_same_kernels_wait_for_each_other(tmp_path: Path) -> None:
    """Two cells of a kind that begin together in an empty cache take hardly longer than one cell alone."""
    words = ["--norm", "augnorm:phi=1.5", "--epochs", "1", "--executor", "local", "--per-run", "cpus=1"]
    homes = {"alone": ["--seeds", "0"], "together": ["--seeds", "0,1"]}
    cold = {}
    for name, seeds in homes.items():
        (tmp_path / name).mkdir()
        cold[name] = seconds_of(tmp_path / name / "cold", *words, *seeds)
        warm = seconds_of(tmp_path / name / "warm", *words, *seeds)
        print(f"\n{name}: cold {cold[name]:.1f} s, warm {warm:.1f} s")
    assert cold["together"] < MOST_TOGETHER * cold["alone"]
