"""What on this machine disturbs a benchmark, for `doctor`: clocks, limits, other users of the GPU, its float32.

The settings are only read, never changed.  No finding is an error: all works, but timings may suffer.
"""

from __future__ import annotations

import os
from pathlib import Path

import torch

from normbench_cli.config import DEFAULTS
from normbench_cli.device import OVERRIDE, GpuState, busy_gpu, gpu_state, takes_flags

PROCESSORS = Path("/sys/devices/system/cpu")
GOVERNORS = "cpu[0-9]*/cpufreq/scaling_governor"
NEAR = 0.95  # of the highest clock
TF32 = {
    "off": "full precision",
    "conv": "TF32 in convolutions, as torch by default",
    "all": "TF32 in convolutions and matrix products",
}
Line = tuple[str, str]  # what was found, and what to do


def conditions(device: torch.device) -> dict[str, Line]:
    """Return the conditions by name, without those that the system does not report."""
    found = {"processor clock": governor()}
    if takes_flags(device):
        with busy_gpu(device):
            state = gpu_state(device)
        found |= {"GPU's float32": float32()} | gpu_lines(state)
    return {name: line for name, line in found.items() if line is not None}


def governor() -> Line | None:
    """The frequency governors of the CPU cores."""
    names = sorted({path.read_text().strip() for path in PROCESSORS.glob(GOVERNORS)})
    if not names:
        return None
    fixed = names == ["performance"]
    return (
        f"governor {', '.join(names)}",
        "" if fixed else "for a steady one: sudo cpupower frequency-set -g performance",
    )


def float32() -> Line:
    what = TF32[DEFAULTS["tf32"]]
    if os.environ.get(OVERRIDE) == "0":
        return f"full precision, because of {OVERRIDE}=0", f"unset {OVERRIDE} for --tf32 to have an effect"
    return what, "--tf32 off is full precision, --tf32 all the fastest; recorded with every run"


def gpu_lines(state: GpuState | None) -> dict[str, Line | None]:
    if state is None:
        return {
            "GPU's state": ("not reported by nvidia-smi", "put nvidia-smi on the PATH, so that clocks are recorded")
        }
    return {
        "GPU's processes": processes(state),
        "GPU's clock": clock(state),
        "GPU's power": power(state),
    }


def processes(state: GpuState) -> Line | None:
    if state.others is None:
        return None
    remedy = "end them, or wait: times and free memory depend on them (nvidia-smi lists them)" if state.others else ""
    return f"{state.others or 'no'} other processes", remedy


def clock(state: GpuState) -> Line | None:
    """The GPU clock, read under load."""
    if state.clock_mhz is None or state.max_clock_mhz is None:
        return None
    why = f" ({', '.join(state.slowed_by)})" if state.slowed_by else ""
    found = f"{state.clock_mhz:.0f} of {state.max_clock_mhz:.0f} MHz under load{why}"
    steady = state.clock_mhz >= NEAR * state.max_clock_mhz and not state.slowed_by
    return (
        found,
        "" if steady else f"to fix it: sudo nvidia-smi -lgc {state.clock_mhz:.0f}, undone by -rgc",
    )


def power(state: GpuState) -> Line | None:
    if state.power_limit_w is None:
        return None
    usual = state.default_power_limit_w or state.power_limit_w
    if state.power_limit_w >= usual:
        return f"limit {state.power_limit_w:.0f} W", ""
    return f"limit {state.power_limit_w:.0f} W of {usual:.0f} W", f"sudo nvidia-smi -pl {usual:.0f} gives all of it"
