"""A report of 10,000 runs with 1,000,000 metric rows: its processor time and memory, and what it does not load.

Processor time of the whole program, start included: 2.1 s for a plain report, 2.2 s with a filter on a metric; 240 MB
at most (one core of a shared Intel Xeon, n=3, database in the page cache).
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from normbench_cli.store import Store
from tests.many_runs import MadeRun, enter_runs

EPOCHS = 20
VALUES = {"train/loss": 0.5, "test/accuracy": 0.5, "step_time_ms": 5.0, "samples_per_s": 9.0, "test/loss": 1.0}


def made_runs() -> Iterator[MadeRun]:
    norms = ("none", "batchnorm", "popnorm", "augnorm", "augnorm:phi=1.2")
    acts = ("relu", "sigmoid", "tanh", "gelu")
    for seed, norm, act, size in itertools.product(range(100), norms, acts, range(1, 6)):
        epochs = [VALUES | {"test/accuracy": 0.5 + (seed * 31 + epoch) % 97 / 1000} for epoch in range(EPOCHS)]
        yield MadeRun({"norm": norm, "act": act, "seed": seed, "batch_size": size}, epochs)


@pytest.fixture
def large_database(home: Path) -> None:
    with Store.open() as store:
        enter_runs(store, made_runs())


def measured(*words: str) -> tuple[dict[str, object], float, float, set[str]]:
    """The command's JSON, its processor seconds, its largest memory in MB, and the modules it has loaded."""
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom normbench_cli.cli.main import main\n"
        f"sys.argv = ['normbench', *{list(words)!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n"
        "    status = dict(line.split(':', 1) for line in Path('/proc/self/status').read_text().splitlines())\n"
        "    peak = int(status['VmHWM'].split()[0]) / 1024\n"
        "    print(time.process_time(), peak, *sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    seconds, memory, *modules = done.stderr.split()
    return json.loads(done.stdout), float(seconds), float(memory), set(modules)


@pytest.mark.benchmark
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
def test_a_report_of_a_large_database_takes_less_than_three_seconds_and_a_gigabyte(large_database: None) -> None:
    for words in (
        [],
        ["--where", "seed < 90 and test/accuracy > 0.55"],
        ["--by", "norm,act", "--across", "batch_size", "--no-test", "--sort", "-test/accuracy"],
    ):
        found, seconds, memory, modules = measured("report", "--json", *words)
        print(f"\nreport {' '.join(words)}: {seconds:.2f} s, {memory:.0f} MB")
        rows = found["rows"]
        assert isinstance(rows, list)
        assert len(rows) == 100
        assert seconds < 3
        assert memory < 1000
        assert not modules & {"torch", "scipy.stats", "matplotlib"}
