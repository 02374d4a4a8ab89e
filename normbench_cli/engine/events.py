"""The events that training yields (progress, measurements, notices), and the exception that ends a diverged run."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Progress:
    """Progress within an epoch, for the progress bar and the heartbeat; it is not recorded."""

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float
    accuracy: float
    samples_per_s: float


@dataclass(frozen=True)
class Record:
    """Measurements of an epoch, or of the whole run if epoch is None: metrics by full name, raw series by name."""

    epoch: int | None
    step: int
    metrics: dict[str, float]
    series: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Notice:
    """A message to show to the user."""

    text: str


class Diverged(Exception):
    """The loss is no longer finite."""

    def __init__(self, step: int) -> None:
        super().__init__(f"the loss was not finite at step {step}")
        self.step = step

    def __reduce__(self) -> tuple[type[Diverged], tuple[int]]:
        return Diverged, (self.step,)  # pickle would pass the message; a fold's process sends this to its parent
