"""Cross-validation: a model for each fold, trained side by side where that is faster, and statistics over the folds."""

from __future__ import annotations

import statistics as plain
import time
from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor, nn

from normbench_cli.device import reset_peak_memory
from normbench_cli.engine.crossval.parallel import trained
from normbench_cli.engine.crossval.statistics import CURVES, Curves, mean_curves, of_fold, summary
from normbench_cli.engine.crossval.train import Fold, Plan, Sliceable, batches
from normbench_cli.engine.events import Progress, Record
from normbench_cli.errors import UsageError


def assign(labels: Tensor, folds: int, seed: int) -> Tensor:
    """The fold of every sample: scikit-learn's stratified folds, shuffled."""
    smallest = int(torch.bincount(labels).min())
    if not 2 <= folds <= smallest:
        raise UsageError(
            f"folds is {folds}, and the smallest class has {smallest} samples", f"give 2 to {smallest} folds"
        )
    from sklearn.model_selection import StratifiedKFold

    found = torch.empty(len(labels), dtype=torch.int64)
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    for number, (_, validation) in enumerate(splitter.split(labels.numpy(), labels.numpy())):
        found[validation] = number
    return found


def cross_validate(
    make_model: Callable[[], nn.Module],
    make_optimizer: Callable[[nn.Module], torch.optim.Optimizer],
    data: Sliceable,
    plan: Plan,
    finished: Mapping[int, Curves] | None = None,
) -> Iterator[Progress | Record]:
    """Train and score every fold that is not among the finished ones.

    Yields a look now and then; for each fold, when it ends, a record with its curves as series
    (`validation/accuracy@fold3`); then a record an epoch with the means over folds; and at the end a record of the
    whole.  Initial weights are drawn for all folds in order after the seed is set once, so a fold's do not depend on
    which folds are left to train.
    """
    done: dict[int, Curves] = dict(finished or {})
    folds = make_folds(make_model, make_optimizer, data, plan)
    todo = [fold for fold in folds if fold.number not in done]
    reset_peak_memory(data.device)
    began = time.perf_counter()
    for fold in trained(todo, data, plan):
        if fold is None:
            yield progress(todo, plan, time.perf_counter() - began)
        else:
            done[fold.number] = fold.curves() | {name: [value] for name, value in fold.solver.items()}
            yield record_of(fold)
    seconds = time.perf_counter() - began
    steps_an_epoch = sum(len(list(batches(fold.train, plan.batch_size, torch.Generator()))) for fold in folds)
    curves = [done[number] for number in sorted(done)]
    for epoch, means in enumerate(mean_curves(curves), 1):
        yield Record(epoch, epoch * steps_an_epoch, means)
    metrics = summary(curves) | over_folds(curves)
    if todo:
        metrics["peak_memory_bytes"] = max(fold.peak_memory for fold in todo)
        samples = plan.epochs * sum(len(fold.train) for fold in todo)
        metrics["samples_per_s"] = samples / max(seconds, 1e-9)
    yield Record(None, plan.epochs * steps_an_epoch, metrics)


def make_folds(
    make_model: Callable[[], nn.Module],
    make_optimizer: Callable[[nn.Module], torch.optim.Optimizer],
    data: Sliceable,
    plan: Plan,
) -> list[Fold]:
    owner = assign(data.labels.cpu(), plan.folds, plan.seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(plan.seed)
        models = [make_model().to(data.device) for _ in range(plan.folds)]
    return [
        Fold(
            number,
            model,
            make_optimizer(model),
            (owner != number).nonzero()[:, 0],
            (owner == number).nonzero()[:, 0],
            torch.zeros(plan.epochs, 2, 2, device=data.device),
        )
        for number, model in enumerate(models)
    ]


def record_of(fold: Fold) -> Record:
    """Its series have a value an epoch, so the record counts epochs where others count steps."""
    curves = fold.curves()
    metrics = {of_fold(name, fold.number): curves[name][-1] for name in CURVES}
    metrics |= {of_fold(name, fold.number): value for name, value in fold.solver.items()}
    return Record(None, fold.epochs_done, metrics, {of_fold(name, fold.number): curves[name] for name in CURVES})


def progress(folds: list[Fold], plan: Plan, seconds: float) -> Progress:
    """How far all folds are together, and the score of the fold that is farthest."""
    epochs = sum(fold.epochs_done for fold in folds)
    steps = sum(fold.steps for fold in folds)
    samples = sum(fold.epochs_done * len(fold.train) for fold in folds)
    running = [fold for fold in folds if 0 < fold.epochs_done < plan.epochs] or folds
    farthest = max(running, key=lambda fold: fold.epochs_done)
    loss, accuracy = float("nan"), float("nan")
    if farthest.epochs_done:
        latest = {name: values[-1] for name, values in farthest.curves().items()}
        loss, accuracy = latest["train/loss"], latest["validation/accuracy"]
    epoch = epochs // len(folds)
    total = steps * plan.epochs * len(folds) // max(epochs, 1)
    return Progress(epoch, plan.epochs, steps, total, loss, accuracy, samples / max(seconds, 1e-9))


def over_folds(folds: list[Curves]) -> dict[str, float]:
    """What the folds' solvers did and learned: means of means, largest of largest, smallest of smallest."""
    extremes = {"solver/iterations_max": max, "solver/residual": max, "phi/max": max, "phi/min": min}
    columns: dict[str, list[float]] = {}
    for fold in folds:
        for name in fold.keys() - set(CURVES):
            columns.setdefault(name, []).append(fold[name][-1])
    return {name: extremes.get(name, plain.fmean)(of) for name, of in sorted(columns.items())}
