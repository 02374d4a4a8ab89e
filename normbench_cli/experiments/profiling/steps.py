"""The steps of a whole model as timed workloads, on a batch of its data: images or graphs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor

from normbench_cli import build
from normbench_cli.build import ResolvedConfig
from normbench_cli.engine.loop import saved_in_step
from normbench_cli.engine.protocols import Inputs
from normbench_cli.engine.step import Learner, train_step
from normbench_cli.measure.cases import LayerCase, calling
from normbench_cli.measure.start import started
from normbench_cli.measure.workloads import Workload

STEPS = {
    "train": "a training step: forward, backward and optimizer",
    "eval": "forward in evaluation mode, without gradients",
}


@dataclass(frozen=True)
class Place:
    """Where contenders are compared: a layer case, or a step of a model.

    count: how often a network calls its norms so.  source: where the layer's values come from.  step: one of STEPS.
    start: of solvers, as in a layer case.  batch_size: examples in the step.
    """

    model: str = ""
    case: LayerCase | None = None
    count: int = 1
    source: Mapping[str, Any] = field(default_factory=dict)
    step: str = "train"
    start: str = "warm"
    batch_size: int = 0

    @property
    def condition(self) -> str:
        """The part after @ in the names of its metrics: the model, and non-default options."""
        if self.case:
            return self.case.label
        unusual = [word for word, usual in ((self.step, "train"), (self.start, "warm")) if word != usual]
        return "+".join([self.model, *unusual])


def calling_at(place: Place) -> AbstractContextManager[None]:
    """Call layers in this block the way this place requires."""
    return calling(place.case.call) if place.case else nullcontext()


def step_workload(config: ResolvedConfig, step: str = "train", start: str = "warm") -> Workload:
    """A step of the model; all norms get the same batch."""
    learner, inputs, labels = example(config)
    model = learner.model
    if step == "eval":
        model.eval()
        return Workload(partial(evaluate, learner, inputs), 0, model)
    saved = saved_in_step(learner, inputs, labels)
    model.train()
    return Workload(started(partial(train_step, learner, inputs, labels), model, start), saved, model)


def evaluate(learner: Learner, inputs: Inputs) -> Tensor:
    with torch.no_grad():
        return learner.logits(inputs)


def example(config: ResolvedConfig) -> tuple[Learner, Inputs, Tensor]:
    """A model with everything needed for training, and a batch of the data: the inputs, the labels."""
    if config.folds:
        return build.graph_example(config)
    training = build.make_training(config)
    batch = next(iter(training.train.epoch(1)))
    return training, batch.inputs, batch.labels
