"""Everything that depends on the device: choosing it, its clock, its memory, mixed precision, its name.

No other file names a kind of accelerator.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import time
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import torch

from normbench_cli.errors import UsageError

AMP_TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def pick_device(text: str = "auto") -> torch.device:
    """The device of that name, which this machine must have; for ``auto`` its accelerator if it has one."""
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
    """Whether this process may use an accelerator, which a process forked from it could not."""
    return torch.accelerator.is_available()


def has_fused_optimizers(device: torch.device) -> bool:
    """Whether torch's optimizers can update all parameters by one kernel there."""
    return device.type in ("cpu", "cuda", "mps", "xpu", "hpu", "mtia")


def synchronize(device: torch.device) -> None:
    """Wait until the device has done all that was queued on it."""
    if on_accelerator(device):
        torch.accelerator.synchronize(device)


def autocast(device: torch.device, amp: str) -> AbstractContextManager[Any]:
    """Mixed precision for the forward pass, or nothing for ``off``."""
    return nullcontext() if amp == "off" else torch.autocast(device.type, AMP_TYPES[amp])


def fast_precision(device: torch.device) -> str:
    """The mixed precision in which this device is faster than in float32; ``off`` if there is none."""
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp16"
    if on_accelerator(device):
        return "bf16"
    has: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return "bf16" if has.get("amx_bf16") or has.get("avx512_bf16") or has.get("bf16") else "off"


def compiling_pays(device: torch.device, operations: float) -> bool:
    """Whether a training of so many floating-point operations is long enough for compiling to be worth it: it takes a
    minute or two, so the training should take several."""
    return operations > (1e16 if on_accelerator(device) else 1e14) and has_compiler(device)


def has_compiler(device: torch.device) -> bool:
    """Whether torch.compile has the compiler it needs: Triton for a GPU, a C++ compiler for a CPU."""
    if on_accelerator(device):
        return importlib.util.find_spec("triton") is not None
    return any(shutil.which(name) for name in (os.environ.get("CXX", "g++"), "clang++", "cl"))


@cache
def onednn_is_faster() -> bool:
    """Whether oneDNN, rather than MKL, multiplies float32 matrices by the whole width of this processor's registers:
    MKL does not where a processor with AVX-512 is not Intel's."""
    whole = torch.backends.cpu.get_cpu_capability() == "AVX512" and torch.backends.mkldnn.is_available()
    return whole and torch.backends.mkl.is_available() and "Intel" not in device_name(torch.device("cpu"))


def gradient_scaler(device: torch.device, amp: str) -> torch.amp.GradScaler:
    """Scales the loss for fp16, whose small gradients would vanish; does nothing for anything else."""
    return torch.amp.GradScaler(device.type, enabled=amp == "fp16")


class Stopwatch:
    """Intervals by the device's own clock: on an accelerator events, for which no step waits; on a CPU nanoseconds."""

    def __init__(self, device: torch.device) -> None:
        self._events = on_accelerator(device)
        self._marks: list[Any] = []

    def mark(self) -> None:
        if self._events:
            event = torch.Event(enable_timing=True)
            event.record()
            self._marks.append(event)
        else:
            self._marks.append(time.perf_counter_ns())

    def laps_ms(self) -> list[float]:
        """Milliseconds between each start and its stop, where marks are start, stop, start, stop, ...; drops them."""
        marks, self._marks = self._marks, []
        if self._events and marks:
            marks[-1].synchronize()
            return [start.elapsed_time(stop) for start, stop in zip(marks[::2], marks[1::2], strict=True)]
        return [(stop - start) / 1e6 for start, stop in zip(marks[::2], marks[1::2], strict=True)]


def allocated_bytes(device: torch.device) -> int:
    """What is allocated on an accelerator now."""
    return torch.accelerator.memory_allocated(device)


def reset_peak_memory(device: torch.device) -> None:
    """Measure the peak from now on: of the accelerator, or on Linux of this process."""
    if on_accelerator(device):
        torch.accelerator.reset_peak_memory_stats(device)
    elif platform.system() == "Linux":
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            return  # some containers forbid it: the peak is then that since the process started


def peak_memory_bytes(device: torch.device) -> int:
    """The most bytes allocated on the accelerator, or for a CPU the peak resident size of this process."""
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
    """The memory of this machine; infinite where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return float("inf")


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
    """The versions of the accelerator's driver libraries, as far as torch tells them."""
    if device.type == "cuda":
        return f"CUDA {torch.version.cuda or torch.version.hip}, cuDNN {torch.backends.cudnn.version()}"
    return ""


def random_state(device: torch.device) -> dict[str, torch.Tensor]:
    """The state of torch's global random generators."""
    state = {"cpu": torch.get_rng_state()}
    if on_accelerator(device):
        state["accelerator"] = torch.get_device_module(device).get_rng_state(device)
    return state


def set_random_state(device: torch.device, state: dict[str, torch.Tensor]) -> None:
    torch.set_rng_state(state["cpu"].cpu())
    if on_accelerator(device) and "accelerator" in state:
        torch.get_device_module(device).set_rng_state(state["accelerator"].cpu(), device)
