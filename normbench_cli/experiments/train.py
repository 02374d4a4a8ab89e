"""Training and resuming one run, with its records, checkpoints and final status."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from normbench_cli import build, paths
from normbench_cli.build import ResolvedConfig
from normbench_cli.config import RunConfig
from normbench_cli.device import pick_device
from normbench_cli.engine import checkpoint
from normbench_cli.engine.crossval import Curves, finished_folds
from normbench_cli.engine.events import Diverged, Notice, Record
from normbench_cli.engine.loop import fit
from normbench_cli.engine.training import Training
from normbench_cli.experiments.checkpoints import Checkpoints
from normbench_cli.experiments.details import details_of
from normbench_cli.experiments.distributed.rank_zero import as_rank_zero, sharing_cores
from normbench_cli.experiments.environment import environment
from normbench_cli.experiments.events import Callback, ignore
from normbench_cli.experiments.lifecycle import Heartbeat, begin_run, recording_outcome, with_loss
from normbench_cli.experiments.recorded import Packages, packages_of, recorded_config
from normbench_cli.experiments.remarks import make_remark, record_norm_layers, remark_on_divergence
from normbench_cli.experiments.result import RunResult
from normbench_cli.experiments.same_data import changed_sources, check_data
from normbench_cli.experiments.trained import checkpoint_mismatch
from normbench_cli.registry.trust import allowed_packages
from normbench_cli.store import Store
from normbench_cli.store.errors import Taken
from normbench_cli.store.location import parse_location
from normbench_cli.store.status import WITH_RESULT


def train_run(
    config: ResolvedConfig, store: Store, on_event: Callback = ignore, instead_of: str | None = None
) -> RunResult:
    """Train one run and record it as it goes.  instead_of: reserve its cell, see `Store.begin`.

    On an error or an interrupt, the run's final status is recorded and the exception is raised again.
    """
    with build.flags_of(config), sharing_cores(config.nproc):
        return train_as_set(config, store, on_event, instead_of)


def train_as_set(config: ResolvedConfig, store: Store, on_event: Callback, instead_of: str | None = None) -> RunResult:
    """Train one run with torch's settings as they are."""
    facts = environment(pick_device(config.device))
    fingerprint, details = details_of(config, facts)
    with recording_outcome(store, partial(resume_advice, config, store)) as begun:
        record: dict[str, Any] = {"fingerprint": fingerprint, "details": details, "instead_of": instead_of}
        run_id = begun.begin(lambda: begin_run(config, store, facts, **record))
        record_norm_layers(run_id, config, store, on_event)
        if config.folds:
            return cross_validate(run_id, config, {}, store, on_event)
        return train_with_all(run_id, config, partial(build.make_training, config), None, store, on_event)


def train_with_all(
    run_id: str,
    config: ResolvedConfig,
    alone: Callable[[], Training],
    saved: dict[str, Any] | None,
    store: Store,
    on_event: Callback,
) -> RunResult:
    """Train to the end, in as many processes as the configuration requests.  saved: the checkpoint that several
    processes continue from."""
    if config.nproc == 1:
        return train_and_record(run_id, config, alone(), store, on_event)
    with as_rank_zero(config, saved) as training:
        return train_and_record(run_id, config, training, store, on_event)


def resume_run(
    text: str,
    store: Store,
    on_event: Callback = ignore,
    allow: Packages = (),
    *,
    force: bool = False,
    instead_of: str | None = None,
) -> RunResult:
    """Continue a run that ended early from its newest intact checkpoint, as if it had never stopped.

    allow: packages that its row may load, besides those allowed permanently.
    force: continue even if the data have changed since it began, which is recorded as a remark.
    instead_of: reserve its cell, see `Store.reopen`.
    """
    paths.set_compile_cache()
    run = store.find(text)
    if run.status == "running":  # a run that was just killed can be resumed without waiting until it counts as silent
        store.sweep(grace=timedelta(0))
        run = store.find(text)
    if run.status in WITH_RESULT:
        raise Taken(f"run {run.id} is {run.status}", "only a run that ended early can be resumed")
    if run.status == "running":
        raise Taken(f"run {run.id} is running, in process {run.pid} on {run.host}", "stop it first")
    recorded = recorded_config(run, allow)
    other_data = check_data(run, recorded, force=force, on_event=on_event)
    for notice in changed_sources(run, recorded):
        on_event(notice)
    config = build.resolve(recorded, trial=None)
    if other_data:
        store.add_remark(run.id, f"continued on other data: {other_data}")
    if config.folds:
        return resume_folds(run.id, config, store, on_event, instead_of)
    training = build.make_training(config)
    folder, saved = paths.run_folder(run.id), None
    if any(folder.glob(checkpoint.PATTERN)):
        saved, damaged = checkpoint.load(folder, training.device)
        for line in damaged:
            on_event(Notice(f"{line}; continuing from the one before"))
        with checkpoint_mismatch(run.id):
            training.load_state_dict(saved)
    advice = partial(resume_advice, config, store)
    with build.flags_of(config), sharing_cores(config.nproc), recording_outcome(store, advice) as begun:
        begun.begin(lambda: reopened(run.id, training.step, store, instead_of))
        on_event(Notice(f"run {run.id} continues after step {training.step} of {training.steps}"))
        return train_with_all(run.id, config, lambda: training, saved, store, on_event)


def reopened(run_id: str, step: int | None, store: Store, instead_of: str | None) -> str:
    store.reopen(run_id, step, instead_of)
    return run_id


def resume_advice(config: RunConfig, store: Store, run_id: str) -> str:
    """A message with the command that continues an interrupted run, and the options that it needs."""
    options = [f"--allow {package}" for package in packages_of(config) if package not in allowed_packages()]
    if store.location != parse_location(paths.database()):
        options.append(f"--db {shlex.quote(store.location.shown)}")
    return f"run {run_id} continues with `{' '.join(['normbench train --resume', run_id, *options])}`"


def train_and_record(
    run_id: str, config: ResolvedConfig, training: Training, store: Store, on_event: Callback
) -> RunResult:
    """Train to the end.  Records are stored before the checkpoint that includes them, so lost ones are made again."""
    checkpoints = Checkpoints(run_id, store)
    heartbeat = Heartbeat(store, run_id)
    last_checkpoint = time.monotonic()
    try:
        for event in fit(training):
            # probes accumulate values over an epoch: with them, only whole epochs can be resumed
            elapsed = time.monotonic() - last_checkpoint
            due = elapsed > config.checkpoint_minutes * 60 and not training.probes
            if isinstance(event, Record):
                store.record(run_id, event.metrics, epoch=event.epoch, step=event.step, series=event.series)
                heartbeat.recorded()
                last = training.step >= training.steps
                due = due or last or bool(event.epoch and event.epoch % config.checkpoint_epochs == 0)
                # a diverged run ends after this record; resumed from a checkpoint made here, it would go on
                due = due and math.isfinite(event.metrics.get("train/loss", 0.0))
            else:
                heartbeat.beat()
            if due:
                checkpoints.save(training, config)
                last_checkpoint = time.monotonic()
            on_event(event)
    except Diverged as diverged:
        return end_diverged(run_id, config, diverged, store, on_event)
    return end_run(run_id, config, store, "finished")


def end_run(run_id: str, config: ResolvedConfig, store: Store, status: str, message: str = "") -> RunResult:
    recorder = store.recorders[run_id]
    store.end(run_id, status, message)
    result = RunResult(run_id, status, config, recorder.metrics, message, fingerprint=recorder.fingerprint)
    return with_loss(result, store)


def end_diverged(
    run_id: str, config: ResolvedConfig, diverged: Diverged, store: Store, on_event: Callback
) -> RunResult:
    if remark := remark_on_divergence(config, diverged.step):
        make_remark(run_id, remark, store, on_event)
    return end_run(run_id, config, store, "diverged", str(diverged))


def cross_validate(
    run_id: str, config: ResolvedConfig, finished: Mapping[int, Curves], store: Store, on_event: Callback
) -> RunResult:
    """Train the remaining folds.  Each is recorded when it ends, the statistics over all folds in one transaction at
    the end."""
    together: list[Record] = []
    heartbeat = Heartbeat(store, run_id)
    try:
        for event in build.cross_validation(config, finished):
            if isinstance(event, Record):
                if event.series:
                    store.record_all(run_id, [event])
                else:
                    together.append(event)
            else:
                heartbeat.beat()
            on_event(event)
    except Diverged as diverged:
        return end_diverged(run_id, config, diverged, store, on_event)
    store.record_all(run_id, together)
    return end_run(run_id, config, store, "finished")


def resume_folds(
    run_id: str, config: ResolvedConfig, store: Store, on_event: Callback, instead_of: str | None
) -> RunResult:
    """Continue a cross-validation: the folds whose curves are recorded in full are not trained again."""
    from normbench_cli.store.queries import series, series_names  # they load pandas, which training does not need

    recorded = {name: series(store, run_id, name).tolist() for name in series_names(store, run_id)}
    curves = build.fold_plan(config).curves
    finished = finished_folds(recorded, config.epochs or 0, store.latest_metrics(run_id), curves)
    with build.flags_of(config), recording_outcome(store, partial(resume_advice, config, store)) as begun:
        begun.begin(lambda: reopened(run_id, None, store, instead_of))
        folds = config.folds if config.fold is None else 1
        on_event(Notice(f"run {run_id} continues with {len(finished)} of {folds} folds finished"))
        return cross_validate(run_id, config, finished, store, on_event)
