"""The training loop: yields one record per epoch and progress events in between.  It prints and stores nothing.

The training state can be saved between any two events; training resumed from it is bit-identical.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normbench_cli.device import autocast, peak_memory_bytes, reset_peak_memory
from normbench_cli.engine.damaged_files import damage_metrics, new_damage
from normbench_cli.engine.data_parallel import PartOfBatch
from normbench_cli.engine.epoch_meter import EpochMeter
from normbench_cli.engine.evaluate import correct, score
from normbench_cli.engine.events import Diverged, Notice, Progress, Record
from normbench_cli.engine.protocols import Batch, Inputs
from normbench_cli.engine.selection import selected_metrics
from normbench_cli.engine.step import Learner, set_learning_rate, train_part, train_step
from normbench_cli.engine.training import Training
from normbench_cli.measure.memory import saved_activation_bytes
from normbench_cli.measure.solver import phi_metrics, reset_solver_statistics, solver_metrics
from normbench_cli.model_state import preserve_state


def fit(training: Training) -> Iterator[Progress | Record | Notice]:
    """Train from the current state of `training` to the end.  If a loss is not finite, raises `Diverged` after the
    record of its epoch."""
    reset_peak_memory(training.device)
    if training.parallel is not None:
        fix_bucket_order(training)
    if training.step == 0:
        yield Record(None, 0, {"saved_activation_bytes": saved_bytes(training)})
    while training.step < training.steps:
        epoch = training.epochs_done + 1
        meter = training.meter = training.meter or EpochMeter(training.device, peek_interval=training.progress_interval)
        training.model.train()
        for batch in meter.timed(training.train.epoch(epoch, first=meter.steps)):
            set_learning_rate(
                training.optimizer, training.lr, training.schedule, progress=training.step / training.steps
            )
            losses, right = step_on(training, batch)
            objective_value = training.objective_value if training.records_objective else None
            meter.add(losses, right, objective_value)
            training.step += 1
            for probe in training.probes:
                probe.after_step(training.step)
            if training.step == training.steps:
                break
            if meter.due() and meter.steps < len(training.train):
                yield progress(training, epoch, meter)
                yield from new_damage(training)
        record = finish_epoch(training, epoch, meter)
        training.meter = None
        training.epochs_done = epoch
        yield record
        yield from new_damage(training)
        if meter.first_bad_step is not None:
            raise Diverged(training.step - meter.steps + meter.first_bad_step + 1)


def step_on(training: Training, batch: Batch) -> tuple[Tensor, Tensor]:
    """Train on a batch, or on this process's part of one; return the losses and which predictions are correct."""
    if training.parallel is not None and isinstance(batch, PartOfBatch):
        training.parallel.begin_step(training.step)
        return train_part(training, training.parallel, batch.inputs, batch.labels, batch.part)
    losses, outputs = train_step(training, batch.inputs, batch.labels)
    return losses, correct(outputs, batch.labels)


def progress(training: Training, epoch: int, meter: EpochMeter) -> Progress:
    loss, accuracy = meter.peek()
    return Progress(
        epoch, training.epochs, training.step, training.steps, loss, accuracy, samples_per_s=meter.samples_per_s()
    )


def fix_bucket_order(training: Training) -> None:
    """Run backward passes and discard the gradients.  DistributedDataParallel orders gradient buckets by the first
    backward pass, and the order affects rounding: with this, resumed training is bit-identical."""
    batch = next(iter(training.train.epoch(0)))
    with preserve_state(training.model, training.device):
        training.model.train()
        for _ in range(2):  # the new order takes effect in the second forward pass
            training.logits(batch.inputs).sum().backward()
    training.optimizer.zero_grad(set_to_none=True)


def finish_epoch(training: Training, epoch: int, meter: EpochMeter) -> Record:
    """Take all measurements at the end of an epoch; none of them counts towards step times."""
    metrics, series = meter.finish()
    metrics["lr"] = training.optimizer.param_groups[0]["lr"]
    metrics["gradient_norm"] = gradient_norm(training.model)
    for probe in training.probes:
        probed, probed_series = probe.read()
        metrics |= probed
        series |= probed_series
    metrics |= solver_metrics(training.model) | phi_metrics(training.model)
    scores: dict[str, float] = {}
    for split, batches in training.splits_to_score():
        scores |= {f"{split}/{name}": value for name, value in score(training, batches).items()}
    training.history.append(scores)
    metrics |= scores
    if training.validation is not None and training.step >= training.steps:
        metrics |= selected_metrics(training.history)
    if training.score_test == "epoch":
        # selected on the test scores, as the papers' code does; documents state this wherever they show it
        metrics["test/accuracy@best"] = max(past["test/accuracy"] for past in training.history)
    metrics["peak_memory_bytes"] = peak_memory_bytes(training.device)
    metrics |= damage_metrics(training)
    return Record(epoch, training.step, metrics, series)


def gradient_norm(model: nn.Module) -> float:
    """The norm of the last step's gradient."""
    return torch.nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None]).item()


def saved_bytes(training: Training) -> int:
    """Bytes that one training forward pass saves for backward, measured before training; the model is unchanged."""
    batch = next(iter(training.train.epoch(0)))
    return saved_in_step(training, batch.inputs, batch.labels)


def saved_in_step(learner: Learner, inputs: Inputs, labels: Tensor) -> int:
    """`saved_bytes` for a given batch of images or graphs."""
    with preserve_state(learner.model, learner.device):
        learner.model.train()
        with autocast(learner.device, learner.amp):
            saved = saved_activation_bytes(
                lambda: F.cross_entropy(learner.model(inputs).float(), labels), learner.model
            )
    reset_solver_statistics(learner.model)  # layers may keep counts outside their buffers
    return saved
