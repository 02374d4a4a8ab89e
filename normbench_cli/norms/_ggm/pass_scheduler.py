"""The number of search passes where testing for convergence would wait: chosen by the reports of previous steps."""

from __future__ import annotations

import torch
from torch import Tensor

from normbench_cli.norms._compile_policy import is_concrete

MOST_BLIND_PASSES = 6  # on an accelerator, at first and after two steps in a row with an uncertified channel
NOTHING_KNOWN = 2  # failures of a new layer


class PassScheduler:
    """The number of steps in a row that ended with an uncertified channel: a host copy of the layer's buffer
    `failures`.

    The buffer is copied to the host without waiting.  Reading the copy waits only if the device is a whole step behind,
    so that the number of passes depends on the data and never on timing.  A copied layer starts from the buffer, and so
    does one whose buffer was loaded, restored or broadcast; it waits for that copy.
    """

    def __init__(self) -> None:
        self.on_host: Tensor | None = None
        self.copied: torch.Event | None = None
        self.version = -1  # of the buffer that was copied

    def __reduce__(self) -> tuple[type[PassScheduler], tuple[()]]:
        return PassScheduler, ()

    def report(self, failures: Tensor, certified: Tensor) -> None:
        """Count this step in the buffer.  certified: whether all channels are, ()"""
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
        self.version = version_of(failures)

    def passes(self, usual: int, failures: Tensor) -> int:
        """Search passes for this step: one more after an uncertified step, many after two."""
        if self.on_host is None or version_of(failures) != self.version:
            self._copy(failures)
        if self.on_host is None:  # on meta every pass would only repeat the shapes of the first
            return usual if failures.is_meta else MOST_BLIND_PASSES
        if self.copied is not None:
            self.copied.synchronize()
        known = int(self.on_host)
        return usual + known if known < NOTHING_KNOWN else MOST_BLIND_PASSES


def version_of(buffer: Tensor) -> int:
    """Counts the changes in place; inference tensors have no such count."""
    return 0 if buffer.is_inference() else buffer._version
