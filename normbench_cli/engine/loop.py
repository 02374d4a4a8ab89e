"""The training loop: a generator that yields a record an epoch and a look at the progress now and then.

Between any two of its yields the whole state can be taken out, and training goes on from it, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normbench_cli.device import (
    autocast,
    gradient_scaler,
    peak_memory_bytes,
    random_state,
    reset_peak_memory,
    set_random_state,
)
from normbench_cli.engine.compiled import Compiled
from normbench_cli.engine.damaged_files import damage_metrics, damaged_files, new_damage
from normbench_cli.engine.epoch_meter import EpochMeter
from normbench_cli.engine.evaluate import score
from normbench_cli.engine.events import Batches, Diverged, Notice, Progress, Record
from normbench_cli.engine.groups import select
from normbench_cli.measure.memory import saved_activation_bytes
from normbench_cli.measure.solver import phi_metrics, solver_metrics


class Probe(Protocol):
    """Something that watches a model while it trains."""

    def after_step(self, step: int) -> None: ...

    def read(self) -> tuple[dict[str, float], dict[str, list[float]]]:
        """Metrics and series since the last reading."""
        ...


@dataclass
class Training:
    """Everything one training run consists of, and how far it has come."""

    model: nn.Module
    objective: nn.Module
    optimizer: torch.optim.Optimizer
    schedule: Callable[[float], float]
    lr: float
    train: Batches
    test: Batches
    device: torch.device
    steps: int
    amp: str = "off"
    validation: Batches | None = None
    group_names: tuple[str, ...] = ()
    compiled_for: tuple[int, ...] | None = None  # the shape of a training batch, if the model is to be compiled
    probes: Sequence[Probe] = ()
    forward: Callable[[Any], Tensor] = field(init=False)  # the model, compiled or as it is
    scaler: torch.amp.GradScaler = field(init=False)
    step: int = 0
    epochs_done: int = 0
    history: list[dict[str, float]] = field(default_factory=list)  # the scores by epoch
    tally: EpochMeter | None = None  # of an epoch that has begun
    told: dict[str, str] = field(default_factory=dict)  # damaged image files that a notice was given of, and why

    def __post_init__(self) -> None:
        self.scaler = gradient_scaler(self.device, self.amp)
        self.forward = Compiled(self.model, self.compiled_for) if self.compiled_for else self.model

    @property
    def epochs(self) -> int:
        return -(-self.steps // len(self.train))

    def call(self, inputs: Any) -> Tensor:
        """The model's outputs in float32, computed with the run's precision."""
        with autocast(self.device, self.amp):
            outputs = self.forward(inputs)
        return outputs.float()

    def state_dict(self) -> dict[str, Any]:
        """Everything that training needs to go on from here to the last bit."""
        return {
            "model": self.model.state_dict(),
            "buffers": dict(self.model.named_buffers()),  # with those that are not part of a model's own state
            "optimizer": self.optimizer.state_dict(),
            "scaler": self.scaler.state_dict(),
            "random": random_state(self.device),
            "step": self.step,
            "epochs_done": self.epochs_done,
            "history": self.history,
            "tally": self.tally.state() if self.tally else None,
            "damaged": damaged_files(self),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put a state that was taken out back in."""
        self.model.load_state_dict(state["model"])
        buffers = dict(self.model.named_buffers())
        with torch.no_grad():
            for name, value in state["buffers"].items():
                buffers[name].copy_(value)
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
        set_random_state(self.device, state["random"])
        self.step, self.epochs_done, self.history = state["step"], state["epochs_done"], state["history"]
        self.tally = EpochMeter.restore(self.device, state["tally"]) if state["tally"] else None
        self.told = dict(state.get("damaged", {}))
        for probe in self.probes:
            probe.read()  # what it saw before is of no use


def fit(run: Training) -> Iterator[Progress | Record | Notice]:
    """Train from where the run is to its end.  Raises `Diverged`, after the epoch's record, at a loss not finite."""
    reset_peak_memory(run.device)
    if run.step == 0:
        yield Record(None, 0, {"saved_activation_bytes": saved_bytes(run)})
    while run.step < run.steps:
        epoch = run.epochs_done + 1
        tally = run.tally = run.tally or EpochMeter(run.device)
        run.model.train()
        for batch in tally.clocked(run.train.epoch(epoch, first=tally.steps)):
            set_rate(run)
            losses, right = train_step(run, batch.inputs, batch.labels)
            tally.add(losses, right)
            run.step += 1
            for probe in run.probes:
                probe.after_step(run.step)
            if run.step == run.steps:
                break
            if tally.time_to_look() and tally.steps < len(run.train):
                loss, accuracy = tally.look()
                yield Progress(epoch, run.epochs, run.step, run.steps, loss, accuracy, tally.samples_per_s())
                yield from new_damage(run)
        record = finish_epoch(run, epoch, tally)
        run.tally, run.epochs_done = None, epoch
        yield record
        yield from new_damage(run)
        if tally.first_bad_step is not None:
            raise Diverged(run.step - tally.steps + tally.first_bad_step + 1)


def finish_epoch(run: Training, epoch: int, tally: EpochMeter) -> Record:
    """All that is measured at an epoch's end, outside the clock."""
    metrics, series = tally.finish()
    metrics["lr"] = run.optimizer.param_groups[0]["lr"]
    metrics["gradient_norm"] = gradient_norm(run.model)
    for probe in run.probes:
        found, raw = probe.read()
        metrics |= found
        series |= raw
    metrics |= solver_metrics(run.model) | phi_metrics(run.model)
    scores: dict[str, float] = {}
    for split, batches in (("validation", run.validation), ("test", run.test)):
        if batches is not None:
            scores |= {f"{split}/{name}": value for name, value in score(run, batches).items()}
    run.history.append(scores)
    metrics |= scores
    if run.validation is not None and run.step >= run.steps:
        metrics |= select(run.history)
    metrics["test/accuracy@best"] = max(past["test/accuracy"] for past in run.history)
    metrics["peak_memory_bytes"] = peak_memory_bytes(run.device)
    metrics |= damage_metrics(run)
    return Record(epoch, run.step, metrics, series)


def set_rate(run: Training) -> None:
    rate = run.lr * run.schedule(run.step / run.steps)
    for group in run.optimizer.param_groups:
        group["lr"] = rate * group.get("rate_factor", 1.0)


def train_step(run: Training, inputs: Any, labels: Tensor) -> tuple[Tensor, Tensor]:
    """One step; gives the samples' losses and which answers were right, still on the device."""
    run.optimizer.zero_grad(set_to_none=True)
    outputs = run.call(inputs)
    losses = F.cross_entropy(outputs, labels, reduction="none")
    run.scaler.scale(run.objective(losses)).backward()
    run.scaler.step(run.optimizer)
    run.scaler.update()
    return losses.detach(), outputs.detach().argmax(1) == labels


def gradient_norm(model: nn.Module) -> float:
    """The norm of the last step's gradient."""
    return torch.nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None]).item()


def saved_bytes(run: Training) -> int:
    """What one training forward keeps for backward, measured once, before the clock; leaves the model as it was."""
    batch = next(iter(run.train.epoch(0)))
    state, random = {name: value.clone() for name, value in run.model.state_dict().items()}, random_state(run.device)
    run.model.train()
    with autocast(run.device, run.amp):
        saved = saved_activation_bytes(
            lambda: F.cross_entropy(run.model(batch.inputs).float(), batch.labels), run.model
        )
    run.model.load_state_dict(state)
    set_random_state(run.device, random)
    solver_metrics(run.model)  # forget what this forward counted
    return saved
