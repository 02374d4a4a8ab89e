"""What the engine needs of the rest of the program, and what it tells it while it works."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from torch import Tensor


class Batch(Protocol):
    """Inputs, labels, and the samples' groups where there are any, all on the device."""

    inputs: Any
    labels: Tensor
    groups: Tensor | None


class Batches(Protocol):
    """What the engine needs of data: batches, epoch by epoch, from any place in the epoch on.

    damaged: files that were left out because they cannot be read, and why; None where no files are read any more.
    """

    batch_size: int
    examples: int
    damaged: dict[str, str] | None

    def __len__(self) -> int: ...

    def epoch(self, number: int = 0, first: int = 0) -> Iterator[Any]: ...  # of Batch


@dataclass(frozen=True)
class Progress:
    """A look in the middle of an epoch, for people and for the heartbeat; not a measurement."""

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float
    accuracy: float
    samples_per_s: float


@dataclass(frozen=True)
class Record:
    """The measurements of an epoch (with epoch None, of the whole run): metrics by full name, raw series by name."""

    epoch: int | None
    step: int
    metrics: dict[str, float]
    series: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Notice:
    """A sentence for the person who looks on."""

    text: str


class Diverged(Exception):
    """The loss stopped being a finite number."""

    def __init__(self, step: int) -> None:
        super().__init__(f"the loss was not finite at step {step}")
        self.step = step

    def __reduce__(self) -> tuple[type[Diverged], tuple[int]]:
        return Diverged, (self.step,)  # so that it can come from another process
