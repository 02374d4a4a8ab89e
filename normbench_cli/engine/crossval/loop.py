"""Cross-validation as a generator of events: train the remaining folds and summarize all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

import torch
from torch import nn

from normbench_cli.device import reset_peak_memory
from normbench_cli.engine.crossval.fold import Fold, FoldPlan, make_folds
from normbench_cli.engine.crossval.parallel import train_folds
from normbench_cli.engine.crossval.statistics import Curves, fold_metric, mean_curves, summary
from normbench_cli.engine.events import Progress, Record
from normbench_cli.engine.protocols import FoldData


def cross_validate(
    make_model: Callable[[], nn.Module],
    make_optimizer: Callable[[nn.Module], torch.optim.Optimizer],
    data: FoldData,
    plan: FoldPlan,
    finished: Mapping[int, Curves] | None = None,
) -> Iterator[Progress | Record]:
    """Train and score every fold of the plan that is not among the finished ones.

    Yields `Progress` periodically; for each finished fold, a record with its curves as series
    (`validation/accuracy@fold3`); then a record for each epoch with the means over folds; and finally a record of the
    whole run.
    """
    done: dict[int, Curves] = dict(finished or {})
    folds = [fold for fold in make_folds(make_model, make_optimizer, data, plan) if plan.fold in (None, fold.number)]
    todo = [fold for fold in folds if fold.number not in done]
    reset_peak_memory(data.device)
    started = time.perf_counter()
    for fold in train_folds(todo, data, plan):
        if fold is None:
            yield progress_of(todo, plan, time.perf_counter() - started)
        else:
            done[fold.number] = fold.curves() | {name: [value] for name, value in fold.layer_metrics.items()}
            yield record_of(fold)
    seconds = time.perf_counter() - started
    steps_per_epoch = sum(plan.steps_per_epoch(len(fold.train)) for fold in folds)
    curves = [done[number] for number in sorted(done)]
    for epoch, means in enumerate(mean_curves(curves), 1):
        yield Record(epoch, epoch * steps_per_epoch, means)
    metrics = summary(curves)
    if todo:
        metrics["peak_memory_bytes"] = max(fold.peak_memory for fold in todo)
        examples = plan.epochs * sum(len(fold.train) for fold in todo)
        metrics["samples_per_s"] = examples / max(seconds, 1e-9)
    yield Record(None, plan.epochs * steps_per_epoch, metrics)


def record_of(fold: Fold) -> Record:
    """The record of a trained fold.  Its series have one value per epoch, so its `step` counts epochs."""
    curves = {fold_metric(name, fold.number): values for name, values in fold.curves().items()}
    metrics = {name: values[-1] for name, values in curves.items()}
    metrics |= {fold_metric(name, fold.number): value for name, value in fold.layer_metrics.items()}
    return Record(None, fold.epochs_done, metrics, curves)


def progress_of(folds: list[Fold], plan: FoldPlan, seconds: float) -> Progress:
    """The total progress of all folds, and the scores of the most advanced fold still in training."""
    epochs = sum(fold.epochs_done for fold in folds)
    steps = sum(fold.steps for fold in folds)
    examples = sum(fold.epochs_done * len(fold.train) for fold in folds)
    running = [fold for fold in folds if 0 < fold.epochs_done < plan.epochs] or folds
    farthest = max(running, key=lambda fold: fold.epochs_done)
    loss, accuracy = float("nan"), float("nan")
    if farthest.epochs_done:
        latest = {name: values[-1] for name, values in farthest.curves().items()}
        loss, accuracy = latest["train/loss"], latest.get("validation/accuracy", latest["train/accuracy"])
    return Progress(
        epoch=epochs // len(folds),
        epochs=plan.epochs,
        step=steps,
        steps=steps * plan.epochs * len(folds) // max(epochs, 1),
        loss=loss,
        accuracy=accuracy,
        samples_per_s=examples / max(seconds, 1e-9),
    )
