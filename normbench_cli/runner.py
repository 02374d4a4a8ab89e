"""Where training meets the database: a config becomes a run, its records become rows, its end becomes a state."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from normbench_cli import build, places
from normbench_cli.config import RunConfig, make_config
from normbench_cli.device import pick_device
from normbench_cli.engine import checkpoint
from normbench_cli.engine.evaluate import score
from normbench_cli.engine.loop import fit
from normbench_cli.engine.records import Diverged, Progress, Record
from normbench_cli.errors import NormbenchError
from normbench_cli.measure.environment import environment
from normbench_cli.store import Store

SECONDS_BETWEEN_BEATS = 15
Watch = Callable[[Progress | Record], None]


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
    try:
        _train(run_id, config, store, watch)
    except Diverged as diverged:
        store.end(run_id, "diverged", str(diverged))
        return Outcome(run_id, config, "diverged", store.latest_metrics(run_id), str(diverged))
    except KeyboardInterrupt:
        store.end(run_id, "interrupted", "stopped by hand")
        raise
    except BaseException as error:
        store.end(run_id, "failed", f"{type(error).__name__}: {error}")
        raise
    store.end(run_id, "finished")
    return Outcome(run_id, config, "finished", store.latest_metrics(run_id))


def _train(run_id: str, config: RunConfig, store: Store, watch: Watch) -> None:
    training = build.build(config)
    beat = time.monotonic()
    for record in fit(training):
        if isinstance(record, Record):
            store.record(run_id, record.metrics, epoch=record.epoch, step=record.step, samples=record.samples)
            beat = time.monotonic()
        elif time.monotonic() - beat > SECONDS_BETWEEN_BEATS:
            store.beat(run_id)
            beat = time.monotonic()
        watch(record)
    weights = {name.removeprefix("_orig_mod."): value for name, value in training.model.state_dict().items()}
    checkpoint.save(places.run_folder(run_id), {"model": weights, "config": config.to_dict()})


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
    saved = checkpoint.load(places.run_folder(run.id), pick_device(device_name))
    training = build.build(config)
    try:
        training.model.load_state_dict(saved["model"])
    except (RuntimeError, KeyError, TypeError, AttributeError) as error:
        raise NormbenchError(
            f"the checkpoint of run {run.id} does not fit its network ({checkpoint.first_words(error)})",
            "it was made by another version; train the run again with --rerun",
        ) from error
    scores = score(training.model, training.test, training.device, config.amp)
    metrics = {f"test/{name}": value for name, value in scores.items()}
    store.record(run.id, metrics, epoch=None, step=training.steps)
    return Outcome(run.id, config, run.state, metrics)
