"""How many passes a search makes where nobody may ask whether it is done: as the steps before reported."""

from __future__ import annotations

import torch
from torch import Tensor

from normbench_cli.norms._compile_policy import is_concrete

MOST_BLIND_PASSES = 6  # on an accelerator, at first and after two steps in a row with a channel that is not certified


class StepBefore:
    """Whether all channels of the step before were certified, and of how many before that not, kept on the host.

    The value is copied there without waiting.  Reading it waits only if the device is a whole step behind, so that the
    number of passes depends on the data and never on timing.  A copy of a layer begins anew.
    """

    def __init__(self) -> None:
        self.certified: Tensor | None = None
        self.failures = 2  # in a row; nothing is known yet
        self.copied: torch.Event | None = None

    def __reduce__(self) -> tuple[type[StepBefore], tuple[()]]:
        return StepBefore, ()

    def report(self, certified: Tensor) -> None:
        if not is_concrete(certified):
            return
        on_accelerator = certified.device.type != "cpu"
        if self.certified is None:
            self.certified = torch.empty((), dtype=torch.bool, pin_memory=on_accelerator)
        self.certified.copy_(certified, non_blocking=True)
        if on_accelerator:
            self.copied = torch.Event(certified.device)
            self.copied.record()

    def passes(self, usual: int) -> int:
        """Of the search in this step: one more after a step that was not certified, many after two."""
        if self.certified is not None:
            if self.copied is not None:
                self.copied.synchronize()
            self.failures = 0 if bool(self.certified) else self.failures + 1
        return usual + self.failures if self.failures < 2 else MOST_BLIND_PASSES
