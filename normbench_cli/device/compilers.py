"""Whether torch.compile pays off and is available on a device; which library's matrix products are fastest."""

from __future__ import annotations

import importlib.util
import os
import shutil
from functools import cache

import torch

from normbench_cli.device.choose import device_name, on_accelerator


def compiling_pays(device: torch.device, operations: float) -> bool:
    """Whether training of this many operations is long enough for compiling to pay off: it takes a minute or two, so
    training should take several."""
    return operations > (1e16 if on_accelerator(device) else 1e14) and has_compiler(device)


def has_compiler(device: torch.device) -> bool:
    """Whether torch.compile has the compiler it needs: Triton for a GPU, a C++ compiler for a CPU."""
    if on_accelerator(device):
        return importlib.util.find_spec("triton") is not None
    return any(shutil.which(name) for name in (os.environ.get("CXX", "g++"), "clang++", "cl"))


@cache
def onednn_is_faster() -> bool:
    """Whether oneDNN multiplies float32 matrices with the full register width of this processor and MKL does not, which
    is the case on processors with AVX-512 that are not Intel's."""
    whole = torch.backends.cpu.get_cpu_capability() == "AVX512" and torch.backends.mkldnn.is_available()
    return whole and torch.backends.mkl.is_available() and "Intel" not in device_name(torch.device("cpu"))
