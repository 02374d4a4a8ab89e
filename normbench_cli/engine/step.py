"""The training step and the learning rate, shared by the main loop and cross-validation so that they stay identical."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normbench_cli.device import autocast, gradient_scaler
from normbench_cli.engine.compiled import Compiled
from normbench_cli.engine.data_parallel import DataParallel, DDPModel, Part
from normbench_cli.engine.protocols import Inputs


@dataclass(kw_only=True)
class Learner:
    """A model and everything that a training step needs.  `Training` and the `Fold` of a cross-validation add their
    progress."""

    model: nn.Module
    objective: Callable[[Tensor], Tensor]  # the losses of a batch -> the value to minimize
    optimizer: torch.optim.Optimizer
    device: torch.device
    amp: str = "off"
    compiled_for: tuple[int, ...] | None = None  # the shape of a training batch, if the model is to be compiled
    compile_mode: str = "default"  # of torch.compile
    parallel: DataParallel | None = None  # None: a single process
    objective_value: Tensor | None = field(default=None, init=False)  # the objective's value at the last step
    forward: Callable[[Inputs], Tensor] = field(init=False)  # the model, compiled or not
    scaler: torch.amp.GradScaler = field(init=False)

    def __post_init__(self) -> None:
        self.scaler = gradient_scaler(self.device, self.amp)
        self.forward = self.model
        if self.parallel:
            self.forward = DDPModel(self.model)
        elif self.compiled_for:
            self.forward = Compiled(self.model, self.compiled_for, mode=self.compile_mode)

    def logits(self, inputs: Inputs) -> Tensor:
        """The model's outputs in float32, computed in the precision of `amp`."""
        with autocast(self.device, self.amp):
            outputs = self.forward(inputs)
        return outputs.float()


def set_learning_rate(
    optimizer: torch.optim.Optimizer, lr: float, schedule: Callable[[float], float], progress: float
) -> None:
    """Set the rate to `lr` times the schedule's factor at this progress (0-1).  No other code sets a learning rate."""
    rate = lr * schedule(progress)
    for group in optimizer.param_groups:
        group["lr"] = rate


def train_step(learner: Learner, inputs: Inputs, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Take one optimizer step.  Returns the losses (N,) and logits (N, classes), still on the device."""
    learner.optimizer.zero_grad(set_to_none=True)
    outputs = learner.logits(inputs)
    losses = F.cross_entropy(outputs, labels, reduction="none")
    objective_value = learner.objective(losses)
    descend(learner, objective_value, objective_value)
    return losses.detach(), outputs.detach()


def train_part(
    learner: Learner, parallel: DataParallel, inputs: Inputs, labels: Tensor, part: Part
) -> tuple[Tensor, Tensor]:
    """Take one optimizer step on a batch; the inputs are this process's part of it.  Returns the losses and which
    predictions are correct, (N,) each, of the whole batch."""
    learner.optimizer.zero_grad(set_to_none=True)
    outputs = learner.logits(inputs)
    own = F.cross_entropy(outputs, labels, reduction="none")
    right = outputs.argmax(1) == labels
    losses, rights = parallel.gather(torch.stack([own, right.to(own.dtype)]), part).unbind()
    own = own[: part.stop - part.start]
    objective_value = learner.objective(torch.cat([losses[: part.start], own, losses[part.stop :]]))
    descend(learner, objective_value, objective_value * parallel.size)
    return losses, rights > 0


def descend(learner: Learner, objective_value: Tensor, differentiated: Tensor) -> None:
    learner.scaler.scale(differentiated).backward()
    learner.objective_value = objective_value.detach()
    learner.scaler.step(learner.optimizer)
    learner.scaler.update()
