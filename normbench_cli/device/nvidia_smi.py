"""Clocks, power limit and other processes of a GPU, as nvidia-smi states them.  They are read, never set."""

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

SECONDS = 20  # it may take some where the driver is loaded first
FIELDS = {  # ours: that of nvidia-smi --help-query-gpu
    "clock_mhz": "clocks.sm",
    "max_clock_mhz": "clocks.max.sm",
    "application_clock_mhz": "clocks.applications.graphics",
    "power_limit_w": "power.limit",
    "default_power_limit_w": "power.default_limit",
    "temperature_c": "temperature.gpu",
}
REASONS_FIELDS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")  # the second in older drivers
REASONS = {  # bits, of those that slow down work
    0x2: "application clocks",
    0x4: "power limit",
    0x8: "hardware slowdown",
    0x20: "heat",
    0x40: "heat",
    0x80: "power supply",
}
SIDE = 4096  # of the matrices that keep a GPU busy while it is looked at
WARM_UP = 0.5  # seconds in which its clock rises


@dataclass(frozen=True)
class GpuState:
    """None: nvidia-smi does not say.  slowed_by: why the clock is below its maximum.  others: processes besides this
    one that compute on the GPU."""

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
    """None for another kind of device, and where there is no nvidia-smi."""
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
def kept_busy(device: torch.device) -> Iterator[None]:
    """The device multiplies matrices during this block: an idle GPU lowers its clock, which says nothing."""
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
    """What nvidia-smi calls the device.  It counts all GPUs, and torch those of CUDA_VISIBLE_DEVICES."""
    return f"GPU-{torch.cuda.get_device_properties(device).uuid}"


def _ask(query: str, gpu: str) -> list[list[str]]:
    """The rows of an answer; none if the question is not understood."""
    command = ["nvidia-smi", query, "--format=csv,noheader,nounits", f"--id={gpu}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    lines = (line for line in done.stdout.splitlines() if line.strip() and not line.startswith("No running"))
    return [[field.strip() for field in line.split(",")] for line in lines]


def _number(text: str) -> float | None:
    """Of a field; [N/A] and [Not Supported] are none."""
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
    """A container may list this process under a number that it does not know of itself."""
    listed = [row[0] for row in _ask("--query-compute-apps=pid", gpu)]
    if str(os.getpid()) in listed:
        return len(listed) - 1
    return max(0, len(listed) - (torch.accelerator.max_memory_allocated(device) > 0))


def limits(state: GpuState | None) -> dict[str, float | None]:
    """What of a state stays as it is from run to run, and decides how fast the GPU can be."""
    names: Sequence[str] = ("max_clock_mhz", "application_clock_mhz", "power_limit_w") if state else ()
    return {name: getattr(state, name) for name in names}
