"""Total and used memory of a device."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import torch

from normbench_cli.device.choose import on_accelerator


def allocated_bytes(device: torch.device) -> int:
    """Bytes currently allocated on an accelerator."""
    return torch.accelerator.memory_allocated(device)


def reset_peak_memory(device: torch.device) -> None:
    """Reset the peak, of the accelerator, or on Linux of this process."""
    if on_accelerator(device):
        torch.accelerator.reset_peak_memory_stats(device)
    elif platform.system() == "Linux":
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            return  # some containers forbid it: the peak is then since the process started


def peak_memory_bytes(device: torch.device) -> int:
    """Peak bytes allocated on the accelerator, or for a CPU the peak resident size of this process."""
    if on_accelerator(device):
        return torch.accelerator.max_memory_allocated(device)
    if platform.system() == "Linux":
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import psutil

    memory = psutil.Process().memory_info()
    return int(getattr(memory, "peak_wset", memory.rss))


def memory_bytes() -> float:
    """Total memory of this machine in bytes; infinite if the system does not report it."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return float("inf")
