"""A training run in memory: its model, data and progress, and the state that a checkpoint holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch

from normbench_cli.device import random_state, set_random_state
from normbench_cli.engine.damaged_files import damaged_files
from normbench_cli.engine.epoch_meter import EpochMeter
from normbench_cli.engine.protocols import Batches, Probe
from normbench_cli.engine.step import Learner


@dataclass(kw_only=True)
class Training(Learner):
    """Everything that makes up a training run, and its progress."""

    schedule: Callable[[float], float]
    lr: float
    train: Batches
    test: Batches
    steps: int
    records_objective: bool = False  # the objective's own value, unless it is the mean loss
    validation: Batches | None = None
    score_test: Literal["epoch", "end", "never"] = "epoch"
    group_names: tuple[str, ...] = ()
    probes: Sequence[Probe] = ()
    progress_interval: float = field(default=0.5, init=False)  # seconds between two `Progress` events
    step: int = 0
    epochs_done: int = 0
    history: list[dict[str, float]] = field(default_factory=list)  # the scores of each epoch
    meter: EpochMeter | None = None  # of an unfinished epoch
    reported: dict[str, str] = field(default_factory=dict)  # damaged files already reported, with reasons

    @property
    def epochs(self) -> int:
        return -(-self.steps // len(self.train))

    def splits_to_score(self) -> Iterator[tuple[str, Batches]]:
        """Yield the splits to score after the current epoch."""
        if self.validation is not None:
            yield "validation", self.validation
        if self.score_test == "epoch" or (self.score_test == "end" and self.step >= self.steps):
            yield "test", self.test

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to resume bit-identically.  The keys are those of the checkpoint format."""
        return {
            "model": self.model.state_dict(),
            "buffers": dict(self.model.named_buffers()),  # including those that are not in the model's state_dict
            "optimizer": self.optimizer.state_dict(),
            "scaler": self.scaler.state_dict(),
            "random": random_state(self.device),
            "step": self.step,
            "epochs_done": self.epochs_done,
            "history": self.history,
            "tally": self.meter.state_dict() if self.meter else None,
            "damaged": damaged_files(self),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from the state of another `Training` with the same configuration."""
        self.model.load_state_dict(state["model"])
        buffers = dict(self.model.named_buffers())
        with torch.no_grad():
            for name, value in state["buffers"].items():
                buffers[name].copy_(value)
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
        set_random_state(self.device, state["random"])
        self.step = state["step"]
        self.epochs_done = state["epochs_done"]
        self.history = state["history"]
        self.meter = None
        if state["tally"]:
            self.meter = EpochMeter(self.device, peek_interval=self.progress_interval)
            self.meter.load_state_dict(state["tally"])
        self.reported = dict(state.get("damaged", {}))
        for probe in self.probes:
            probe.read()  # drop what was observed before the state was loaded
