"""Where training meets the database: a config becomes a run, its records become rows, its end becomes a state."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from normbench_cli import build, paths
from normbench_cli.config import RunConfig, make_config
from normbench_cli.device import pick_device
from normbench_cli.engine import checkpoint
from normbench_cli.engine.crossval import Curves, finished_folds
from normbench_cli.engine.events import Diverged, Notice, Progress, Record
from normbench_cli.engine.loop import fit
from normbench_cli.engine.training import Training
from normbench_cli.errors import NormbenchError, first_sentence
from normbench_cli.runs.environment import environment
from normbench_cli.store import Store
from normbench_cli.store.status import WITH_RESULT

SECONDS_BETWEEN_BEATS = 15
Watch = Callable[[Progress | Record | Notice], None]
__all__ = [
    "Notice",
    "Progress",
    "Record",
    "RunResult",
    "check",
    "execute",
    "execute_all",
    "new_configs",
    "resume",
]


@dataclass(frozen=True)
class RunResult:
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


def check(configs: Iterable[RunConfig]) -> list[RunConfig]:
    """Find out what cannot work before anything is recorded, and choose for this device what was left open."""
    paths.set_compile_cache()
    return [build.check(config) for config in configs]


def new_configs(store: Store, configs: Iterable[RunConfig]) -> list[RunConfig]:
    """Those of a grid that have no result yet."""
    configs = list(configs)
    done = store.newest_results([config.fingerprint() for config in configs])
    return [config for config in configs if config.fingerprint() not in done]


def execute(config: RunConfig, store: Store, watch: Watch = lambda record: None) -> RunResult:
    """Train one run and record it as it goes.  An error or an interruption ends the run in its state and goes on up."""
    if config.compile is None:
        watch(Notice("trying whether compiling the model pays (--compile or --no-compile decides)"))
        config = replace(config, compile=build.faster_compiled(config))
    for remark in build.remarks(config):
        watch(Notice(remark))
    run_id = store.begin(
        config.to_dict(), config.fingerprint(), environment(pick_device(config.device)), argv=sys.argv[1:]
    )
    with ending(run_id, store):
        if config.folds:
            return cross_validate(run_id, config, {}, store, watch)
        return carry_out(run_id, config, build.build(config), store, watch)


def cross_validate(
    run_id: str, config: RunConfig, finished: Mapping[int, Curves], store: Store, watch: Watch
) -> RunResult:
    """Train the folds that are left; each is recorded when it ends, and all that is said of them together at once."""
    together: list[Record] = []
    beat = time.monotonic()
    try:
        for record in build.cross_validation(config, finished):
            if isinstance(record, Record):
                if record.series:
                    store.record_all(run_id, [record])
                else:
                    together.append(record)
            elif time.monotonic() - beat > SECONDS_BETWEEN_BEATS:
                store.heartbeat(run_id)
                beat = time.monotonic()
            watch(record)
    except Diverged as diverged:
        return end_diverged(run_id, config, store, diverged)
    store.record_all(run_id, together)
    store.end(run_id, "finished")
    return RunResult(run_id, config, "finished", store.latest_metrics(run_id))


def end_diverged(run_id: str, config: RunConfig, store: Store, diverged: Diverged) -> RunResult:
    store.end(run_id, "diverged", str(diverged))
    return RunResult(run_id, config, "diverged", store.latest_metrics(run_id), str(diverged))


def resume_folds(run_id: str, config: RunConfig, store: Store, watch: Watch) -> RunResult:
    """Go on with a cross-validation: the folds whose curves are recorded in full are not trained again."""
    from normbench_cli.store.queries import series, series_names  # they load pandas, which training does without

    recorded = {name: series(store, run_id, name).tolist() for name in series_names(store, run_id)}
    finished = finished_folds(recorded, config.epochs or 0, store.latest_metrics(run_id))
    store.reopen(run_id, None)
    watch(Notice(f"run {run_id} goes on with {len(finished)} of {config.folds} folds finished"))
    with ending(run_id, store):
        return cross_validate(run_id, config, finished, store, watch)


def resume(text: str, store: Store, watch: Watch = lambda record: None) -> RunResult:
    """Go on with a run that ended early, from its newest whole checkpoint, as if it had never stopped."""
    paths.set_compile_cache()
    run = store.find(text)
    if run.status == "running":  # who kills a run and resumes it at once need not wait until it counts as silent
        store.sweep(grace=timedelta(0))
        run = store.find(text)
    if run.status in WITH_RESULT:
        raise NormbenchError(f"run {run.id} is {run.status}", "only a run that ended early can be resumed")
    if run.status == "running":
        raise NormbenchError(f"run {run.id} is running, in process {run.pid} on {run.host}", "stop it first")
    config = make_config(run.config)
    if config.folds:
        return resume_folds(run.id, config, store, watch)
    training = build.build(config)
    folder = paths.run_folder(run.id)
    if any(folder.glob(checkpoint.PATTERN)):
        saved, damaged = checkpoint.load(folder, training.device)
        for line in damaged:
            watch(Notice(f"{line}; going on from the one before"))
        with fitting(run.id):
            training.load_state_dict(saved)
    store.reopen(run.id, training.step)
    watch(Notice(f"run {run.id} goes on after step {training.step} of {training.steps}"))
    with ending(run.id, store):
        return carry_out(run.id, config, training, store, watch)


@contextmanager
def ending(run_id: str, store: Store) -> Iterator[None]:
    """Whatever stops a run is written into its state."""
    try:
        with store.hold_open():
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
            f"the checkpoint of run {run_id} does not fit its network ({first_sentence(error)})",
            "it was made by another version; train the run again with --rerun",
        ) from error


def carry_out(run_id: str, config: RunConfig, training: Training, store: Store, watch: Watch) -> RunResult:
    """Train to the end; every record is stored before the checkpoint that includes it, so a lost one is made again."""
    folder = paths.run_folder(run_id)
    kept = beat = time.monotonic()
    try:
        for record in fit(training):
            now = time.monotonic()
            # probes keep an epoch's values to themselves: with them, only whole epochs can be taken up again
            due = now - kept > config.checkpoint_minutes * 60 and not training.probes
            if isinstance(record, Record):
                store.record(run_id, record.metrics, epoch=record.epoch, step=record.step, series=record.series)
                beat = now
                last = training.step >= training.steps
                due = due or last or bool(record.epoch and record.epoch % config.checkpoint_epochs == 0)
                # after this record a diverged run ends; taken up from a checkpoint made here, it would go on
                due = due and math.isfinite(record.metrics.get("train/loss", 0.0))
            elif now - beat > SECONDS_BETWEEN_BEATS:
                store.heartbeat(run_id)
                beat = now
            if due:
                store.sync()  # or a power cut could leave a checkpoint and not the records before it
                checkpoint.save(folder, training.step, {**training.state_dict(), "config": config.to_dict()})
                kept = time.monotonic()
            watch(record)
    except Diverged as diverged:
        return end_diverged(run_id, config, store, diverged)
    store.end(run_id, "finished")
    return RunResult(run_id, config, "finished", store.latest_metrics(run_id))


def execute_all(
    configs: Iterable[RunConfig], store: Store, watch: Watch, begin: Callable[[RunConfig], None] = lambda config: None
) -> Iterator[RunResult]:
    """Run a grid.  A cell that fails is an outcome; the others still run."""
    for config in configs:
        begin(config)
        try:
            yield execute(config, store, watch)
        except Exception as error:
            # any fault of one cell must not cost the others; its message is on its row, its traceback in --debug
            yield RunResult("", config, "failed", {}, f"{type(error).__name__}: {error}")
