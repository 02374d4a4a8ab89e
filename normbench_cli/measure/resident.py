"""The peak memory of a workload in this process: the resident size, or an accelerator's own count.

The resident size of a process depends on everything it has done before.  So peaks on a CPU are measured in a separate
process, see `peak.py`, whose allocator returns memory to the system at once.
"""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress
from pathlib import Path

import torch

from normbench_cli.device import allocated_bytes, on_accelerator, peak_memory_bytes, reset_peak_memory
from normbench_cli.measure.timing import Work

STATUS = Path("/proc/self/status")
RESET_WITHIN = 2**20  # bytes; if the system does not let a process reset its peak, it stays far above
# for glibc: every large block is mapped separately and returned to the system as soon as it is freed
RETURN_AT_ONCE = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536", "MALLOC_ARENA_MAX": "1"}


def peak_bytes(work: Work, device: torch.device) -> int | None:
    """The peak increase of allocated memory during one call; None if the system does not report it."""
    work()
    give_back()
    if on_accelerator(device):
        before = allocated_bytes(device)
        reset_peak_memory(device)
        work()
        return peak_memory_bytes(device) - before
    if not STATUS.exists():
        return None
    reset_peak_memory(device)
    before = resident_bytes("VmRSS")
    if resident_bytes("VmHWM") > before + RESET_WITHIN:
        return None
    work()
    return max(0, resident_bytes("VmHWM") - before)


def give_back() -> None:
    """Return freed memory that the process still holds to the system."""
    gc.collect()
    with suppress(OSError, AttributeError):  # glibc only
        ctypes.CDLL(None).malloc_trim(0)


def resident_bytes(name: str) -> int:
    """VmRSS or VmHWM of this process."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024
