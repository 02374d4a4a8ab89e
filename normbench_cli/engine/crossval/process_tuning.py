"""What cross-validation changes for a whole process, here and in the workers that it forks.  All of it is about speed and
waiting; no number depends on it.

malloc.  Each step allocates and frees the same activations, some of them megabytes large.  glibc serves blocks above a
threshold (128 KiB at first) by mmap and gives them back to the system when they are freed, so every step pays for the
page faults anew.  When a program frees such a block, glibc raises the threshold to its size, up to 32 MiB, and its trim
threshold, above which free memory at the end of the heap goes back to the system, to twice that.  `tune_malloc` frees
one block of nearly 32 MiB, and both are at their largest.  The thresholds are deliberately not set by mallopt: that
would switch glibc's own adjustment off for the rest of the process, the trim threshold included.

Threads.  A worker computes on one thread, for there are as many workers as the parent had threads.  What is compiled for
the workers is compiled on one thread too (`one_thread`), as the number of threads is part of a kernel's identity.

Compile workers.  inductor compiles in helper processes of its own.  A forked worker inherits the belief that they are
there but not the processes, and would wait for them for ever: `disable_compile_workers` lets it compile by itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch

LARGEST_TAUGHT = 31 * 2**20  # bytes; glibc adjusts its thresholds by blocks below 32 MiB


def tune_malloc() -> None:
    """Let glibc keep the memory of freed activations for the next step.  Has no effect on other allocators."""
    torch.empty(LARGEST_TAUGHT, dtype=torch.uint8)


@contextmanager
def one_thread() -> Iterator[None]:
    """torch computes on one thread in the block, and on as many as before after it."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def disable_compile_workers() -> None:
    """Let inductor compile in this process.  Call it in a forked process only, for it is not undone."""
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # for an inductor that is not imported yet
    if inductor := sys.modules.get("torch._inductor.config"):
        inductor.compile_threads = 1  # type: ignore[attr-defined]
