"""Running metrics of an epoch: losses and correct predictions, kept on the device until read, and step times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from normbench_cli.device import Stopwatch
from normbench_cli.engine.protocols import Batch


class EpochMeter:
    """Running metrics of the current epoch.  Checkpoints made within an epoch contain its `state_dict`.

    peek_interval: seconds between two calls of `peek`, each of which waits for the device
    clock: the source of seconds
    """

    def __init__(
        self, device: torch.device, peek_interval: float = 0.5, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._device = device
        self._peek_interval = peek_interval
        self._clock = clock
        self._stopwatch = Stopwatch(device)
        self._step_times: list[float] = []  # in milliseconds
        self._losses: list[Tensor] = []  # the mean of each batch
        self._minimized: list[Tensor] = []  # the objective's value at each step, unless it is the mean loss
        self._sizes: list[int] = []
        self._correct = torch.zeros((), dtype=torch.int64, device=device)
        self._started = clock()
        self._last_peek = self._started
        self._restored_examples = 0  # counted before the checkpoint that the meter was restored from
        self.first_bad_step: int | None = None  # index within the epoch; set by `finish`

    @property
    def steps(self) -> int:
        return len(self._sizes)

    def timed(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield the batches.  A step's time starts before its batch is fetched and ends in `add`; what the caller does
        after that is not counted."""
        while True:
            self._stopwatch.mark()
            batch = next(batches, None)
            if batch is None:
                self._stopwatch.mark()
                return
            yield batch

    def add(self, losses: Tensor, correct: Tensor, objective_value: Tensor | None = None) -> None:
        """Add a step's losses (N,), which predictions are correct (N,), and the value of the objective, ()."""
        self._losses.append(losses.mean())
        if objective_value is not None:
            self._minimized.append(objective_value)
        self._sizes.append(len(losses))
        self._correct += correct.sum()
        self._stopwatch.mark()

    def due(self) -> bool:
        """Whether it is time for another `peek`."""
        return self._clock() - self._last_peek > self._peek_interval

    def peek(self) -> tuple[float, float]:
        """Return the latest loss and the accuracy of the epoch so far.  Waits for the device."""
        self._last_peek = self._clock()
        return self._losses[-1].item(), self._correct.item() / sum(self._sizes)

    def samples_per_s(self) -> float:
        """Throughput since this meter was made or restored."""
        return (sum(self._sizes) - self._restored_examples) / max(self._clock() - self._started, 1e-9)

    def finish(self) -> tuple[dict[str, float], dict[str, list[float]]]:
        """Return the epoch's metrics and its raw series, with one value per step."""
        step_times = self._read_step_times()
        losses = torch.stack(self._losses)
        bad = (~torch.isfinite(losses)).nonzero()
        self.first_bad_step = int(bad[0]) if len(bad) else None
        sizes = torch.tensor(self._sizes, dtype=torch.float64)
        values = losses.cpu().double()
        metrics = {
            "train/loss": float((values * sizes).sum() / sizes.sum()),
            "train/accuracy": self._correct.item() / sum(self._sizes),
            "step_time_ms": float(torch.tensor(step_times).median()),
            "samples_per_s": sum(self._sizes) / (sum(step_times) / 1e3),
        }
        if self._minimized and len(self._minimized) == len(sizes):  # weighted like the loss
            objective = torch.stack(self._minimized).double().cpu()
            metrics["train/objective"] = float((objective * sizes).sum() / sizes.sum())
        return metrics, {"train/loss": values.tolist(), "step_time_ms": step_times}

    def _read_step_times(self) -> list[float]:
        # the stopwatch has an extra interval if it was started but there was no further batch
        self._step_times = (self._step_times + self._stopwatch.laps_ms())[: self.steps]
        return self._step_times

    def state_dict(self) -> dict[str, Any]:
        """The metrics so far, under the keys of the checkpoint format."""
        return {
            "losses": torch.stack(self._losses) if self._losses else torch.empty(0),
            "minimized": torch.stack(self._minimized) if self._minimized else torch.empty(0),
            "sizes": list(self._sizes),
            "right": self._correct.clone(),
            "laps": self._read_step_times(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._losses = list(state["losses"].to(self._device).unbind()) if len(state["sizes"]) else []
        objective_value = state.get("minimized", torch.empty(0))  # not in the checkpoints of older versions
        self._minimized = (
            list(objective_value.to(self._device).unbind()) if len(objective_value) == len(state["sizes"]) else []
        )
        self._sizes = list(state["sizes"])
        self._step_times = list(state["laps"])
        self._correct = state["right"].to(self._device)
        self._restored_examples = sum(self._sizes)
