"""How a measurement fails: out of memory, which is a result, or an error of the layer."""

from __future__ import annotations

from typing import Literal

import torch

from normbench_cli.errors import first_sentence

Status = Literal["ok", "oom", "failed"]
ALLOCATORS_SAY = ("can't allocate memory", "not enough memory", "out of memory", "bad_alloc", "cannot allocate memory")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an allocation failed: on an accelerator, in torch's CPU allocator, or in Python."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError | OSError) and any(words in str(error).lower() for words in ALLOCATORS_SAY)


def status_of(error: Exception) -> tuple[Status, str]:
    """Return oom or failed, and the reason in one line."""
    return ("oom" if is_out_of_memory(error) else "failed"), f"{type(error).__name__}: {first_sentence(error)}"
