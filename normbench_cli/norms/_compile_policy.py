"""Whether to compile a function of a tensor: decided by device and shape alone, never by earlier calls.

``NORMBENCH_COMPILE`` is auto (default), always or never.
"""

from __future__ import annotations

import os

import torch
from torch import Tensor

from normbench_cli import fast_paths

LARGE = 2**20  # elements; for fewer, starting a compiler costs more than it saves
LARGE_MATRIX = 40_000  # the same for a kernel compiled once for any number of rows
SEARCHED_MATRIX = 2**14  # the same for a search, whose many small operations cost more than the data


def is_concrete(x: Tensor) -> bool:
    """Whether x is a tensor with data, outside any tracing: code may read its values and start a compiler."""
    return type(x) in (Tensor, torch.nn.Parameter) and x.device.type != "meta" and not torch.compiler.is_compiling()


def reads_without_sync(x: Tensor) -> bool:
    """Whether reading a value costs nothing, as on a CPU; on an accelerator it waits for the device."""
    return is_concrete(x) and x.device.type == "cpu"


def should_compile(x: Tensor, dynamic_rows: bool = False, large_matrix: int = LARGE_MATRIX) -> bool:
    """Whether to compile a function of this tensor; depends on the shape alone, as long as the compiler works."""
    policy = os.environ.get("NORMBENCH_COMPILE", "auto")
    open_rows = dynamic_rows and x.ndim == 2
    large = policy == "always" or x.numel() >= (large_matrix if open_rows else LARGE)
    return large and policy != "never" and not fast_paths.failed(path_of(x.device, open_rows))


def path_of(device: torch.device, open_rows: bool) -> str:
    return f"inductor on {device.type}{' with dynamic rows' if open_rows else ''}"
