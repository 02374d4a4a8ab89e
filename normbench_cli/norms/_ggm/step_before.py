"""How many passes a search makes where nobody may ask whether it is done: as the steps before reported."""

from __future__ import annotations

import torch
from torch import Tensor

from normbench_cli.norms._compile_policy import is_concrete

MOST_BLIND_PASSES = 6  # on an accelerator, at first and after two steps in a row with a channel that is not certified
NOTHING_KNOWN = 2  # failures of a new layer


class StepBefore:
    """How many steps in a row ended with a channel that was not certified: the layer's buffer `failures`, as the host
    knows it.

    The buffer is copied to the host without waiting.  Reading the copy waits only if the device is a whole step behind,
    so that the number of passes depends on the data and never on timing.  A copy of a layer, or one whose training is
    resumed, begins with the buffer.
    """

    def __init__(self) -> None:
        self.on_host: Tensor | None = None
        self.copied: torch.Event | None = None

    def __reduce__(self) -> tuple[type[StepBefore], tuple[()]]:
        return StepBefore, ()

    def report(self, failures: Tensor, certified: Tensor) -> None:
        """Count this step in the buffer.  certified: all channels are, ()"""
        failures.copy_(torch.where(certified, 0, failures + 1))
        self._copy(failures)

    def _copy(self, failures: Tensor) -> None:
        if not is_concrete(failures):
            return
        on_accelerator = failures.device.type != "cpu"
        if self.on_host is None:
            self.on_host = torch.empty_like(failures, device="cpu", pin_memory=on_accelerator)
        self.on_host.copy_(failures, non_blocking=True)
        if on_accelerator:
            self.copied = torch.Event(failures.device)
            self.copied.record()

    def passes(self, usual: int, failures: Tensor) -> int:
        """Of the search in this step: one more after a step that was not certified, many after two."""
        if self.on_host is None:
            self._copy(failures)
        if self.on_host is None:  # on meta every pass would only repeat the shapes of the first
            return usual if failures.is_meta else MOST_BLIND_PASSES
        if self.copied is not None:
            self.copied.synchronize()
        known = int(self.on_host)
        return usual + known if known < NOTHING_KNOWN else MOST_BLIND_PASSES
