"""Process-wide settings of cross-validation, for this process and the workers that it forks.

They affect speed and prevent deadlocks; no result depends on them.

malloc.  Each step allocates and frees the same activations, some of them megabytes large.  glibc serves blocks above a
threshold (128 KiB at first) by mmap and returns them to the system when they are freed, so every step pays for the
page faults again.  When a program frees such a block, glibc raises the threshold to its size, up to 32 MiB, and its
trim threshold, above which free memory at the end of the heap is returned to the system, to twice that.  `tune_malloc`
frees one block of nearly 32 MiB, which raises both to their maximum.  The thresholds are deliberately not set by
mallopt: that would disable glibc's own adjustment for the rest of the process, including that of the trim threshold.

Threads.  Each worker uses one thread, as there are as many workers as the parent had threads.  The kernels for the
workers are compiled with one thread too (`threads(1)`): a kernel is compiled for a fixed number of threads.

Compile workers.  inductor compiles in helper processes, which a forked worker does not have and would wait for.
`norms/_compile.py`, where inductor is called, disables them in a process that has a parent.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

LARGEST_TAUGHT = 31 * 2**20  # bytes; glibc adjusts its thresholds by blocks below 32 MiB


def tune_malloc() -> None:
    """Make glibc keep the memory of freed activations for the next step.  Has no effect on other allocators."""
    torch.empty(LARGEST_TAUGHT, dtype=torch.uint8)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Set torch's number of threads within the block, and restore it afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
