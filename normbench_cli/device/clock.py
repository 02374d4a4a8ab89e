"""A device's own clock."""

from __future__ import annotations

import time
from typing import Any

import torch

from normbench_cli.device.choose import on_accelerator


def synchronize(device: torch.device) -> None:
    """Wait until the device has finished all queued work."""
    if on_accelerator(device):
        torch.accelerator.synchronize(device)


class Stopwatch:
    """Times intervals by the device's own clock: events on an accelerator, which do not block; nanoseconds on a CPU."""

    def __init__(self, device: torch.device) -> None:
        self._events = on_accelerator(device)
        self._marks: list[Any] = []

    def mark(self) -> None:
        if self._events:
            event = torch.Event(enable_timing=True)
            event.record()
            self._marks.append(event)
        else:
            self._marks.append(time.perf_counter_ns())

    def laps_ms(self) -> list[float]:
        """Return the milliseconds from each start to its stop, where marks alternate start, stop; and reset."""
        marks, self._marks = self._marks, []
        if self._events and marks:
            marks[-1].synchronize()
            return [start.elapsed_time(stop) for start, stop in zip(marks[::2], marks[1::2], strict=True)]
        return [(stop - start) / 1e6 for start, stop in zip(marks[::2], marks[1::2], strict=True)]
