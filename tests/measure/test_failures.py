"""Out of memory is told from an error of the layer."""

from __future__ import annotations

import pytest
import torch

from normbench_cli.measure.failures import status_of


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (MemoryError(), "oom"),
        (torch.OutOfMemoryError("CUDA out of memory"), "oom"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried 99 bytes"), "oom"),
        (RuntimeError("std::bad_alloc"), "oom"),
        (OSError("[Errno 12] Cannot allocate memory"), "oom"),
        (RuntimeError("running_mean should contain 3 elements not 4"), "failed"),
        (ValueError("out of memory"), "failed"),
    ],
)
def test_the_status_of_an_error(error: Exception, status: str) -> None:
    assert status_of(error)[0] == status


def test_what_torch_really_raises_is_out_of_memory() -> None:
    with pytest.raises(RuntimeError) as raised:
        torch.empty(2**55, dtype=torch.uint8)
    assert status_of(raised.value)[0] == "oom"
