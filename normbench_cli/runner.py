"""Where training meets the database: a config becomes a run, its records become rows, its end becomes a state."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from normbench_cli import build, places
from normbench_cli.config import RunConfig, make_config
from normbench_cli.device import pick_device
from normbench_cli.engine import checkpoint
from normbench_cli.engine.evaluate import score
from normbench_cli.engine.loop import Training, fit, go_on_from, state_of
from normbench_cli.engine.records import Diverged, Notice, Record
from normbench_cli.engine.records import Progress as Look
from normbench_cli.errors import NormbenchError
from normbench_cli.measure.environment import environment
from normbench_cli.store import Store

SECONDS_BETWEEN_BEATS = 15
Watch = Callable[[Look | Record | Notice], None]
__all__ = [
    "Look",
    "Notice",
    "Outcome",
    "Record",
    "check",
    "evaluate",
    "execute",
    "execute_all",
    "new_configs",
    "resume",
]


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    run_id: str
    config: RunConfig
    state: str
    metrics: dict[str, float]
    message: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.run_id,
            "fingerprint": self.config.fingerprint(),
            "status": self.state,
            "config": self.config.to_dict(),
            "metrics": self.metrics,
        }


def check(configs: Iterable[RunConfig]) -> None:
    """Find out what cannot work before anything is recorded."""
    for config in configs:
        build.check(config)


def new_configs(store: Store, configs: Iterable[RunConfig]) -> list[RunConfig]:
    """Those of a grid that have no result yet."""
    configs = list(configs)
    done = store.finished([config.fingerprint() for config in configs])
    return [config for config in configs if config.fingerprint() not in done]


def execute(config: RunConfig, store: Store, watch: Watch = lambda record: None) -> Outcome:
    """Train one run and record it as it goes.  An error or an interruption ends the run in its state and goes on up."""
    run_id = store.begin(
        config.to_dict(), config.fingerprint(), environment(pick_device(config.device)), argv=sys.argv[1:]
    )
    with ending(run_id, store):
        return carry_out(run_id, config, build.build(config), store, watch)


def resume(text: str, store: Store, watch: Watch = lambda record: None) -> Outcome:
    """Go on with a run that ended early, from its newest whole checkpoint, as if it had never stopped."""
    run = store.find(text)
    if run.state in ("finished", "diverged"):
        raise NormbenchError(f"run {run.id} is {run.state}", "only a run that ended early can be resumed")
    if run.state == "running":
        raise NormbenchError(f"run {run.id} is running, in process {run.pid} on {run.host}", "stop it first")
    config = make_config(run.config)
    training = build.build(config)
    folder = places.run_folder(run.id)
    if any(folder.glob(checkpoint.PATTERN)):
        saved, damaged = checkpoint.load(folder, training.device)
        for line in damaged:
            watch(Notice(f"{line}; going on from the one before"))
        with fitting(run.id):
            go_on_from(training, saved)
    store.take_up(run.id, training.step)
    watch(Notice(f"run {run.id} goes on after step {training.step} of {training.steps}"))
    with ending(run.id, store):
        return carry_out(run.id, config, training, store, watch)


@contextmanager
def ending(run_id: str, store: Store) -> Iterator[None]:
    """Whatever stops a run is written into its state."""
    try:
        yield
    except KeyboardInterrupt:
        store.end(run_id, "interrupted", "stopped by hand")
        raise
    except BaseException as error:
        store.end(run_id, "failed", f"{type(error).__name__}: {error}")
        raise


@contextmanager
def fitting(run_id: str) -> Iterator[None]:
    try:
        yield
    except (RuntimeError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise NormbenchError(
            f"the checkpoint of run {run_id} does not fit its network ({checkpoint.first_words(error)})",
            "it was made by another version; train the run again with --rerun",
        ) from error


def carry_out(run_id: str, config: RunConfig, training: Training, store: Store, watch: Watch) -> Outcome:
    """Train to the end; every record is stored before the checkpoint that includes it, so a lost one is made again."""
    folder = places.run_folder(run_id)
    kept = beat = time.monotonic()
    try:
        for record in fit(training):
            now = time.monotonic()
            due = now - kept > config.checkpoint_minutes * 60
            if isinstance(record, Record):
                store.record(run_id, record.metrics, epoch=record.epoch, step=record.step, samples=record.samples)
                beat = now
                last = training.step >= training.steps
                due = due or last or bool(record.epoch and record.epoch % config.checkpoint_epochs == 0)
            elif now - beat > SECONDS_BETWEEN_BEATS:
                store.beat(run_id)
                beat = now
            if due:
                checkpoint.save(folder, training.step, {**state_of(training), "config": config.to_dict()})
                kept = time.monotonic()
            watch(record)
    except Diverged as diverged:
        store.end(run_id, "diverged", str(diverged))
        return Outcome(run_id, config, "diverged", store.latest_metrics(run_id), str(diverged))
    store.end(run_id, "finished")
    return Outcome(run_id, config, "finished", store.latest_metrics(run_id))


def execute_all(
    configs: Iterable[RunConfig], store: Store, watch: Watch, begin: Callable[[RunConfig], None] = lambda config: None
) -> Iterator[Outcome]:
    """Run a grid.  A cell that fails is an outcome; the others still run."""
    for config in configs:
        begin(config)
        try:
            yield execute(config, store, watch)
        except Exception as error:
            # any fault of one cell must not cost the others; its message is on its row, its traceback in --debug
            yield Outcome("", config, "failed", {}, f"{type(error).__name__}: {error}")


def evaluate(run_id: str, store: Store, device_name: str = "auto") -> Outcome:
    """Score a finished run's checkpoint again, and add what was measured to the run."""
    run = store.find(run_id)
    if run.state != "finished":
        raise NormbenchError(f"run {run.id} is {run.state}", "only a finished run can be evaluated")
    config = make_config(run.config | {"device": device_name})
    saved, _ = checkpoint.load(places.run_folder(run.id), pick_device(device_name))
    training = build.build(config)
    with fitting(run.id):
        training.model.load_state_dict(saved["model"])
    metrics = {f"test/{name}": value for name, value in score(training, training.test).items()}
    store.record(run.id, metrics, epoch=None, step=training.steps)
    return Outcome(run.id, config, run.state, metrics)
