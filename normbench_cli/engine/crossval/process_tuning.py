"""What cross-validation changes for a whole process, here and in the workers that it forks.

All of it is about speed and about waiting; no number depends on it.

malloc.  Each step allocates and frees the same activations, some of them megabytes large.  glibc serves blocks above a
threshold (128 KiB at first) by mmap and gives them back to the system when they are freed, so every step pays for the
page faults anew.  When a program frees such a block, glibc raises the threshold to its size, up to 32 MiB, and its trim
threshold, above which free memory at the end of the heap goes back to the system, to twice that.  `tune_malloc` frees
one block of nearly 32 MiB, and both are at their largest.  The thresholds are deliberately not set by mallopt: that
would switch glibc's own adjustment off for the rest of the process, the trim threshold included.

Threads.  A worker computes on one thread, as there are as many workers as the parent had threads.  The kernels for the
workers are compiled on one thread too (`threads(1)`): a kernel is compiled for a number of threads.

Compile workers.  inductor compiles in helper processes of its own, which a forked worker does not have and would wait
for.  That is settled where inductor is called, in `norms/_compile.py`: in a process that has a parent it uses none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

LARGEST_TAUGHT = 31 * 2**20  # bytes; glibc adjusts its thresholds by blocks below 32 MiB


def tune_malloc() -> None:
    """Let glibc keep the memory of freed activations for the next step.  Has no effect on other allocators."""
    torch.empty(LARGEST_TAUGHT, dtype=torch.uint8)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """torch computes on so many threads in the block, and on as many as before after it."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
