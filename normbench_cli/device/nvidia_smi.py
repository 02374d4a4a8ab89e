"""Clocks, power limit and other processes of a GPU, as reported by nvidia-smi.  They are read, never set."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from threading import Event, Thread
from typing import Any

import torch

SECONDS = 20  # timeout; it may take a while if the driver must be loaded first
FIELDS = {  # our name -> name in nvidia-smi --help-query-gpu
    "clock_mhz": "clocks.sm",
    "max_clock_mhz": "clocks.max.sm",
    "application_clock_mhz": "clocks.applications.graphics",
    "power_limit_w": "power.limit",
    "default_power_limit_w": "power.default_limit",
    "temperature_c": "temperature.gpu",
}
REASONS_FIELDS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")  # the second in older drivers
REASONS = {  # bits of the reasons that slow down work
    0x2: "application clocks",
    0x4: "power limit",
    0x8: "hardware slowdown",
    0x20: "heat",
    0x40: "heat",
    0x80: "power supply",
}
SIDE = 4096  # of the matrices that keep a GPU busy while its state is read
WARM_UP = 0.5  # seconds until its clock has risen


@dataclass(frozen=True)
class GpuState:
    """None: not reported by nvidia-smi.  slowed_by: why the clock is below its maximum.  others: number of other
    processes that compute on the GPU."""

    clock_mhz: float | None = None
    max_clock_mhz: float | None = None
    application_clock_mhz: float | None = None
    power_limit_w: float | None = None
    default_power_limit_w: float | None = None
    temperature_c: float | None = None
    slowed_by: tuple[str, ...] = ()
    others: int | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"slowed_by": list(self.slowed_by)}


def gpu_state(device: torch.device) -> GpuState | None:
    """The state of a GPU; None for other devices, or without nvidia-smi."""
    if device.type != "cuda" or torch.version.hip:
        return None
    gpu = _identifier(device)
    for reasons in REASONS_FIELDS:
        if rows := _ask(f"--query-gpu={','.join([*FIELDS.values(), reasons])}", gpu):
            *numbers, mask = rows[0]
            found = dict(zip(FIELDS, map(_number, numbers), strict=True))
            return GpuState(**found, slowed_by=_reasons(mask), others=_others(gpu, device))
    return None


@contextmanager
def busy_gpu(device: torch.device) -> Iterator[None]:
    """Multiply matrices on the device during the block: an idle GPU lowers its clock, which is not representative."""
    over = Event()

    def work() -> None:
        x = torch.ones(SIDE, SIDE, device=device)
        while not over.is_set():
            x @ x
            torch.accelerator.synchronize(device)

    worker = Thread(target=work)
    worker.start()
    try:
        time.sleep(WARM_UP)
        yield
    finally:
        over.set()
        worker.join()


def _identifier(device: torch.device) -> str:
    """The device's UUID, since nvidia-smi numbers all GPUs, and torch only those of CUDA_VISIBLE_DEVICES."""
    return f"GPU-{torch.cuda.get_device_properties(device).uuid}"


def _ask(query: str, gpu: str) -> list[list[str]]:
    """The rows of nvidia-smi's output; empty if the query fails."""
    command = ["nvidia-smi", query, "--format=csv,noheader,nounits", f"--id={gpu}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    lines = (line for line in done.stdout.splitlines() if line.strip() and not line.startswith("No running"))
    return [[field.strip() for field in line.split(",")] for line in lines]


def _number(text: str) -> float | None:
    """The number in a field; None for [N/A] and [Not Supported]."""
    try:
        return float(text)
    except ValueError:
        return None


def _reasons(mask: str) -> tuple[str, ...]:
    try:
        bits = int(mask, 16)
    except ValueError:
        return ()
    return tuple(dict.fromkeys(reason for bit, reason in REASONS.items() if bits & bit))


def _others(gpu: str, device: torch.device) -> int:
    """The number of other processes.  In a container, this process may be listed under another pid."""
    listed = [row[0] for row in _ask("--query-compute-apps=pid", gpu)]
    if str(os.getpid()) in listed:
        return len(listed) - 1
    return max(0, len(listed) - (torch.accelerator.max_memory_allocated(device) > 0))


def limits(state: GpuState | None) -> dict[str, float | None]:
    """The part of a state that is constant across runs and determines how fast the GPU can be."""
    names: Sequence[str] = ("max_clock_mhz", "application_clock_mhz", "power_limit_w") if state else ()
    return {name: getattr(state, name) for name in names}
