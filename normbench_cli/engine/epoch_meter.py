"""An epoch's counts: losses and right answers kept on the device until somebody looks, and the clock of its steps."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from normbench_cli.device import Stopwatch
from normbench_cli.engine.events import Batch

SECONDS_BETWEEN_LOOKS = 0.5


class EpochMeter:
    """What has been counted in the epoch so far.  It can be put into a checkpoint and taken out again."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._watch = Stopwatch(device)
        self._laps: list[float] = []
        self._losses: list[Tensor] = []
        self._sizes: list[int] = []
        self._right = torch.zeros((), dtype=torch.int64, device=device)
        self._began = self._looked = time.perf_counter()
        self._began_with = 0
        self.first_bad_step: int | None = None  # within the epoch, once it is finished

    @property
    def steps(self) -> int:
        return len(self._sizes)

    def clocked(self, batches: Iterator[Any]) -> Iterator[Batch]:
        """The batches; the clock runs while one is made and used, and stands still while the caller looks on."""
        while True:
            self._watch.mark()
            batch = next(batches, None)
            if batch is None:
                self._watch.mark()
                return
            yield batch

    def add(self, losses: Tensor, right: Tensor) -> None:
        self._losses.append(losses.mean())
        self._sizes.append(len(losses))
        self._right += right.sum()
        self._watch.mark()

    def time_to_look(self) -> bool:
        return time.perf_counter() - self._looked > SECONDS_BETWEEN_LOOKS

    def look(self) -> tuple[float, float]:
        """The last loss and the epoch's accuracy so far."""
        self._looked = time.perf_counter()
        return self._losses[-1].item(), self._right.item() / sum(self._sizes)

    def samples_per_s(self) -> float:
        """The pace since this tally was made or taken from a checkpoint."""
        return (sum(self._sizes) - self._began_with) / max(time.perf_counter() - self._began, 1e-9)

    def finish(self) -> tuple[dict[str, float], dict[str, list[float]]]:
        """The epoch's metrics and its raw series."""
        laps = self._read_laps()
        losses = torch.stack(self._losses)
        bad = (~torch.isfinite(losses)).nonzero()
        self.first_bad_step = int(bad[0]) if len(bad) else None
        sizes = torch.tensor(self._sizes, dtype=torch.float64)
        values = losses.double().cpu()
        metrics = {
            "train/loss": float((values * sizes).sum() / sizes.sum()),
            "train/accuracy": self._right.item() / sum(self._sizes),
            "step_time_ms": float(torch.tensor(laps).median()),
            "samples_per_s": sum(self._sizes) / (sum(laps) / 1e3),
        }
        return metrics, {"train/loss": values.tolist(), "step_time_ms": laps}

    def _read_laps(self) -> list[float]:
        self._laps = (self._laps + self._watch.laps_ms())[: self.steps]  # a last lap may have found no batch
        return self._laps

    def state(self) -> dict[str, Any]:
        losses = torch.stack(self._losses) if self._losses else torch.empty(0)
        return {"losses": losses, "sizes": list(self._sizes), "right": self._right.clone(), "laps": self._read_laps()}

    @classmethod
    def restore(cls, device: torch.device, state: dict[str, Any]) -> EpochMeter:
        tally = cls(device)
        tally._losses = list(state["losses"].to(device).unbind()) if len(state["sizes"]) else []
        tally._sizes, tally._laps = list(state["sizes"]), list(state["laps"])
        tally._right = state["right"].to(device)
        tally._began_with = sum(tally._sizes)
        return tally
