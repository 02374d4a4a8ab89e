"""One run of a tuning: looked up by its fingerprint, continued if it was interrupted, or trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from normbench_cli import build
from normbench_cli.config import RunConfig
from normbench_cli.engine.crossval import fold_metric
from normbench_cli.errors import NormbenchError
from normbench_cli.experiments.events import Callback, Event, Record, RunEnded, RunStarted
from normbench_cli.experiments.grid import train_cell
from normbench_cli.experiments.identity import fingerprints
from normbench_cli.experiments.lifecycle import Stopped
from normbench_cli.experiments.recorded import packages_of, recorded_result
from normbench_cli.experiments.result import RunResult
from normbench_cli.experiments.train import resume_run
from normbench_cli.experiments.tuning.contest import Outcome, TrialStatus
from normbench_cli.store import Store
from normbench_cli.store.queries import metrics_frame, series
from normbench_cli.store.status import WITH_RESULT

ShouldStop = Callable[[int, float], bool]  # epoch, score
DIVERGED = 0.0  # the score of a trial that diverged: no accuracy is lower


@dataclass
class Trials:
    """Runs trials scored by a metric, and reports what happens."""

    store: Store
    metric: str
    on_event: Callback

    def make(self, config: RunConfig, should_stop: ShouldStop) -> Outcome:
        """Run a trial and return its outcome.  What is already recorded is not trained again."""
        run_id, status = self.recorded(config)
        watch = Watch(self.metric, epochs_of(config), should_stop, self.on_event)
        for epoch, score in self.curve(run_id):
            if watch.sees(epoch, score):
                return self.outcome(config, run_id, "stopped", watch)
        if status not in WITH_RESULT:
            try:
                result = run(config, run_id if status == "interrupted" else "", self.store, watch)
            except Stopped as stopped:
                self.on_event(RunEnded(stopped_result(stopped, config)))
                return self.outcome(config, stopped.run_id, "stopped", watch)
            except Exception as error:  # of any kind: it must not stop the other trials
                message = f"{type(error).__name__}: {error}"
                self.on_event(RunEnded(RunResult("", "failed", config, {}, message, fingerprint="")))
                return Outcome("failed", float("nan"), message=message)
            self.on_event(RunEnded(result))
            run_id, status = result.id, result.status
        return self.outcome(config, run_id, status, watch)

    def final(self, config: RunConfig) -> RunResult:
        """Return the result of a final run, which is trained unless it is recorded."""
        run_id, status = self.recorded(config)
        if status in WITH_RESULT:
            return recorded_result(run_id, self.store, packages_of(config))
        try:
            result = run(config, run_id if status == "interrupted" else "", self.store, self.on_event)
        except Exception as error:
            result = RunResult("", "failed", config, {}, f"{type(error).__name__}: {error}", fingerprint="")
        self.on_event(RunEnded(result))
        return result

    def recorded(self, config: RunConfig) -> tuple[str, str]:
        """The recorded run of a configuration, and its status; ("", "new") if there is none."""
        (fingerprint,) = fingerprints([config])
        run_id, status = self.store.newest_runs([fingerprint]).get(fingerprint, ("", "new"))
        if status == "running":
            raise NormbenchError(
                f"run {run_id} of this tuning is running in another process", "wait for it, or stop it"
            )
        return run_id, status

    def curve(self, run_id: str) -> list[tuple[int, float]]:
        """The recorded epochs and scores of a run."""
        if not run_id:
            return []
        frame = metrics_frame(self.store, [run_id], [self.metric], curve=True)
        return sorted((int(epoch), value) for epoch, value in zip(frame["epoch"], frame["value"], strict=True))

    def outcome(self, config: RunConfig, run_id: str, status: str, watch: Watch) -> Outcome:
        spent = self.seconds(config, run_id)
        if status == "diverged":
            return Outcome("diverged", DIVERGED, spent, watch.epoch, run_id)
        if status == "finished" and not watch.epoch:
            raise NormbenchError(f"run {run_id} has no {self.metric}", "choose a metric that its data set has")
        ended: TrialStatus = "stopped" if status == "stopped" else "finished"
        return Outcome(ended, watch.score, spent, watch.epoch, run_id, folds=self.fold_scores(config, run_id))

    def seconds(self, config: RunConfig, run_id: str) -> float:
        """The time of training steps; for a cross-validation, which does not record single steps, the time of all its
        folds, trained in parallel."""
        if not config.folds:
            return float(series(self.store, run_id, "step_time_ms").sum()) / 1000
        rate = self.store.latest_metrics(run_id).get("samples_per_s", 0.0)
        examples = (config.epochs or 0) * sum(len(splits.train) for splits in build.splits_of_folds(config))
        return examples / rate if rate else 0.0

    def fold_scores(self, config: RunConfig, run_id: str) -> tuple[float, ...]:
        """The score of each fold after its last epoch."""
        if not config.folds:
            return ()
        metrics = self.store.latest_metrics(run_id)
        return tuple(metrics[fold_metric(self.metric, fold)] for fold in range(config.folds))


@dataclass
class Watch:
    """Passes the score of each epoch of a run to the pruner and ends the run if it says so, but not after the last."""

    metric: str
    epochs: int
    should_stop: ShouldStop
    on_event: Callback
    epoch: int = 0
    score: float = float("nan")

    def sees(self, epoch: int, score: float) -> bool:
        """Note the score of an epoch; return whether to end the run."""
        self.epoch, self.score = epoch, score
        return epoch < self.epochs and self.should_stop(epoch, score)

    def __call__(self, event: Event) -> None:
        self.on_event(event)
        if isinstance(event, Record) and event.epoch and self.metric in event.metrics:
            score = event.metrics[self.metric]
            if self.sees(event.epoch, score):
                raise Stopped(f"stopped by tune after epoch {event.epoch}, at {score:.2%}")


def run(config: RunConfig, interrupted: str, store: Store, on_event: Callback) -> RunResult:
    """Train a run, or continue the interrupted one with this id."""
    on_event(RunStarted(config))
    if interrupted:
        return resume_run(interrupted, store, on_event, packages_of(config))
    return train_cell(config, store, on_event)


def stopped_result(stopped: Stopped, config: RunConfig) -> RunResult:
    return RunResult(stopped.run_id, "interrupted", config, {}, str(stopped), fingerprint="")


def epochs_of(config: RunConfig) -> int:
    """The number of epochs of a run, the last of which may be shorter."""
    if config.epochs:
        return config.epochs
    steps = -(-len(build.images_of(config).train) // config.batch_size)
    return -(-(config.iterations or 0) // steps)
