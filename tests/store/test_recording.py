"""What recording a run costs: 10,000 steps take less than 2 MB and 1 % of the time that they are trained in."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from sqlalchemy import func, select

from normbench_cli.store import Store
from normbench_cli.store.location import has_log
from normbench_cli.store.queries import series
from normbench_cli.store.schema import Metric, Run

EPOCHS, STEPS = 80, 125
STEP_SECONDS = 0.02  # the default training takes more
BEATS = int(EPOCHS * STEPS * STEP_SECONDS / 15)
METRICS = (
    *("train/loss", "train/accuracy", "step_time_ms", "samples_per_s", "lr", "gradient_norm", "test/loss"),
    *("test/accuracy", "test/accuracy@best", "peak_memory_bytes"),
    *("solver/iterations_mean", "solver/iterations_max", "solver/unconverged", "solver/residual"),
)
SERIES = ("train/loss", "step_time_ms")
PROBES = ("weights/l2", "weights/l2/0.conv1", "weights/l2/0.conv2", "bn/gamma2_minus_sigma2", "bn/beta_minus_mu")
PHI = ("phi/mean", "phi/min", "phi/max")


def records(metrics: tuple[str, ...], names: tuple[str, ...], epochs: int, steps: int) -> Iterator[tuple]:
    """As the loop yields them, of numbers whose digits are all different, as measured ones' are."""
    draw = np.random.default_rng(0)
    for epoch in range(1, epochs + 1):
        values = dict(zip(metrics, draw.random(len(metrics)).tolist(), strict=True))
        yield values, epoch, epoch * steps, {name: draw.normal(1, 0.1, steps).tolist() for name in names}


def size_of(store: Store) -> int:
    return sum(path.stat().st_size for path in store.location.path.parent.glob(store.location.path.name + "*"))


@pytest.mark.parametrize(
    ("names", "epochs", "steps"),
    [(SERIES, EPOCHS, STEPS), (SERIES + PROBES + PHI, EPOCHS, STEPS), (SERIES, 834, 12)],
    ids=["plain", "with probes", "in epochs of 12 steps"],
)
def test_ten_thousand_steps_take_less_than_two_megabytes(
    store: Store, enter: Callable[..., Any], names: tuple[str, ...], epochs: int, steps: int
) -> None:
    run_id, before = enter("running"), size_of(store)
    with store.hold_open():
        for metrics, epoch, step, samples in records(METRICS + names[2:], names, epochs, steps):
            store.record(run_id, metrics, epoch=epoch, step=step, series=samples)
    assert size_of(store) - before < 2_000_000
    assert len(series(store, run_id, "train/loss")) == epochs * steps


def test_recording_takes_less_than_a_hundredth_of_the_training(
    store: Store, enter: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all waiting for the disk: for each epoch's checkpoint, too."""
    monkeypatch.setattr("normbench_cli.store.connection.SYNCHRONOUS", "NORMAL")
    run_id, rows = enter("running"), list(records(METRICS, SERIES, EPOCHS, STEPS))
    began = time.perf_counter()
    with store.hold_open():
        for metrics, epoch, step, samples in rows:
            store.record(run_id, metrics, epoch=epoch, step=step, series=samples)
            store.sync()
        for _ in range(BEATS):
            store.beat(run_id)
    assert time.perf_counter() - began < 0.01 * EPOCHS * STEPS * STEP_SECONDS


def look_in(location: str) -> None:
    """What another process does: a report, or a run of its own."""
    with Store.open(location) as store:
        store.count()
        store.begin({}, "f", {}, argv=[])


def test_a_file_that_is_kept_open_is_there_for_others(store: Store, enter: Callable[..., Any]) -> None:
    """Also when the same process opens it again, which must not cost it its locks: others would take its log away."""
    run_id = enter("running")
    with store.hold_open():
        for step in range(1, 4):
            store.record(run_id, {"train/loss": 1.0}, step=step)
            with Store.open():
                pass
            other = multiprocessing.get_context("spawn").Process(target=look_in, args=(str(store.location.path),))
            other.start()
            other.join()
            assert other.exitcode == 0
            assert has_log(store.location.path)
    assert not has_log(store.location.path)
    with store.reading() as session:
        assert session.scalars(select(Metric.step)).all() == [1, 2, 3]
        assert session.scalar(select(func.count()).select_from(Run)) == 4


def test_a_log_that_is_not_there_need_not_be_waited_for(store: Store, enter: Callable[..., Any]) -> None:
    enter()
    store.sync()
