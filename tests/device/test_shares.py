"""A machine divided among processes."""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch

from normbench_cli.device import accelerator_shares, core_share, shares, usable_cores


def test_threads_are_limited_before_torch_is_loaded() -> None:
    assert core_share(3)["OMP_NUM_THREADS"] == "3"
    assert 1 <= usable_cores() <= (os.cpu_count() or 1)


@pytest.mark.parametrize(
    ("visible", "device", "seen"),
    [
        (None, "auto", ["0", "1"]),
        ("2,GPU-7", "cuda", ["2", "GPU-7"]),
        (None, "cpu", []),
        (None, "cuda:1", []),
    ],
)
def test_each_process_sees_one_accelerator(
    monkeypatch: pytest.MonkeyPatch, visible: str | None, device: str, seen: list[str]
) -> None:
    monkeypatch.delenv(shares.VISIBLE, raising=False)
    if visible:
        monkeypatch.setenv(shares.VISIBLE, visible)
    monkeypatch.setattr(shares, "pick_device", lambda name: torch.device("cuda"))
    counted: Any = lambda: 2  # noqa: E731
    monkeypatch.setattr(torch.accelerator, "device_count", counted)
    assert accelerator_shares(device) == [{shares.VISIBLE: name} for name in seen]
