"""Choosing a device by its name, and describing it."""

from __future__ import annotations

import platform
from pathlib import Path

import torch

from normbench_cli.errors import UsageError


def pick_device(text: str = "auto") -> torch.device:
    """The device of that name, which this machine must have; ``auto``: its accelerator if it has one."""
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    if text == "auto":
        return accelerator or torch.device("cpu")
    hint = f"give cpu{f' or {accelerator.type}' if accelerator else ''}, or omit --device"
    try:
        device = torch.device(text)
    except RuntimeError:
        raise UsageError(f"'{text}' is not the name of a device", hint) from None
    if device.type == "cpu":
        return torch.device("cpu")
    if accelerator is None or accelerator.type != device.type:
        raise UsageError(f"this machine has no device '{text}' that torch can use", hint)
    count = torch.accelerator.device_count()
    if (device.index or 0) >= count:
        raise UsageError(
            f"there is no '{text}': {count} device(s) of this kind", f"give {device.type}:0 to {count - 1}"
        )
    return device


def on_accelerator(device: torch.device) -> bool:
    return device.type not in ("cpu", "meta")


def has_accelerator() -> bool:
    """Whether this process may use an accelerator, which processes forked from it could not."""
    return torch.accelerator.is_available()


def has_fused_optimizers(device: torch.device) -> bool:
    """Whether torch's optimizers have fused kernels for this device."""
    return device.type in ("cpu", "cuda", "mps", "xpu", "hpu", "mtia")


def pins_memory(device: torch.device) -> bool:
    """Whether copies to this device are faster, and asynchronous, from page-locked memory."""
    return device.type in ("cuda", "xpu")


def device_name(device: torch.device) -> str:
    """The model of the accelerator or the processor."""
    if on_accelerator(device):
        properties = torch.get_device_module(device).get_device_properties(device)
        return str(getattr(properties, "name", device.type))
    if platform.system() == "Linux":
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def driver_version(device: torch.device) -> str:
    """The versions of the accelerator's driver libraries, as far as torch reports them."""
    if device.type == "cuda":
        return f"CUDA {torch.version.cuda or torch.version.hip}, cuDNN {torch.backends.cudnn.version()}"
    return ""
