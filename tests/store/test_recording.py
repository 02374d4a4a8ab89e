"""What recording a run costs: 10,000 steps take less than 2 MB, and less than 1 % of the time of their training."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import func, select

from normbench_cli.store import Store
from normbench_cli.store.queries import series
from normbench_cli.store.rows import Measurements
from normbench_cli.store.schema import Metric, Run
from normbench_cli.store.sqlite_file import has_log

EPOCHS, STEPS = 80, 125
STEP_SECONDS = 0.02  # the default training takes longer
HEARTBEATS = int(EPOCHS * STEPS * STEP_SECONDS / 15)
METRICS = (
    *("train/loss", "train/accuracy", "step_time_ms", "samples_per_s", "lr", "gradient_norm", "test/loss"),
    *("test/accuracy", "test/accuracy@best", "peak_memory_bytes"),
    *("solver/iterations_mean", "solver/iterations_max", "solver/unconverged", "solver/residual"),
)
SERIES = ("train/loss", "step_time_ms")
PROBES = ("weights/l2", "weights/l2/0.conv1", "weights/l2/0.conv2", "bn/gamma2_minus_sigma2", "bn/beta_minus_mu")
PHI = ("phi/mean", "phi/min", "phi/max")


def records(metrics: tuple[str, ...], names: tuple[str, ...], epochs: int, steps: int) -> Iterator[Measurements]:
    """As the training loop yields them, with random digits, because measured numbers do not compress either."""
    draw = np.random.default_rng(0)
    for epoch in range(1, epochs + 1):
        values = dict(zip(metrics, draw.random(len(metrics)).tolist(), strict=True))
        chunks = {name: draw.normal(1, 0.1, steps).tolist() for name in names}
        yield Measurements(values, epoch, epoch * steps, chunks)


def size_with_log(file: Path) -> int:
    return sum(path.stat().st_size for path in file.parent.glob(f"{file.name}*"))


@pytest.mark.parametrize(
    ("names", "epochs", "steps"),
    [(SERIES, EPOCHS, STEPS), (SERIES + PROBES + PHI, EPOCHS, STEPS), (SERIES, 834, 12)],
    ids=["plain", "with probes", "in epochs of 12 steps"],
)
def test_ten_thousand_steps_take_less_than_two_megabytes(
    store: Store, enter: Callable[..., str], file: Path, names: tuple[str, ...], epochs: int, steps: int
) -> None:
    run_id, before = enter("running"), size_with_log(file)
    with store.hold_open():
        for record in records(METRICS + names[2:], names, epochs, steps):
            store.record_all(run_id, [record])
    assert size_with_log(file) - before < 2_000_000
    assert len(series(store, run_id, "train/loss")) == epochs * steps


@pytest.mark.benchmark
def test_recording_takes_less_than_a_hundredth_of_the_training(enter: Callable[..., str]) -> None:
    """With all waiting for the disk, also for the checkpoint of each epoch."""
    run_id, measured = enter("running"), list(records(METRICS, SERIES, EPOCHS, STEPS))
    with Store.open(synchronous="NORMAL") as store:
        began = time.perf_counter()
        with store.hold_open():
            for record in measured:
                store.record_all(run_id, [record])
                store.sync()
            for _ in range(HEARTBEATS):
                store.heartbeat(run_id)
        assert time.perf_counter() - began < 0.01 * EPOCHS * STEPS * STEP_SECONDS


def read_and_write(location: str) -> None:
    """What another process does: a report, or a run of its own."""
    with Store.open(location) as store:
        store.count()
        store.begin({}, "f", {}, argv=[])


def test_other_processes_can_use_a_file_that_is_kept_open(store: Store, enter: Callable[..., str], file: Path) -> None:
    """Even if this process opens it a second time: that must not cost it its locks, or others would delete its log."""
    run_id = enter("running")
    with store.hold_open():
        for step in range(1, 3):
            store.record(run_id, {"train/loss": 1.0}, step=step)
            with Store.open():
                pass
            other = multiprocessing.get_context("spawn").Process(target=read_and_write, args=(str(file),))
            other.start()
            other.join()
            assert other.exitcode == 0
            assert has_log(file)
    assert not has_log(file)
    with store.reading() as session:
        assert session.scalars(select(Metric.step)).all() == [1, 2]
        assert session.scalar(select(func.count()).select_from(Run)) == 3
