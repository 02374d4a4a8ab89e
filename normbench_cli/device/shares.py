"""Dividing a machine among concurrent processes: which accelerators and how many cores each one uses."""

from __future__ import annotations

import os
from collections.abc import Mapping

import torch

from normbench_cli.device.choose import pick_device

VISIBLE = "CUDA_VISIBLE_DEVICES"
ANY = ("auto", "cuda")  # device names without an index


def accelerator_shares(device: str) -> list[dict[str, str]]:
    """For each accelerator that `device` may mean, the environment variables that make it a process's only one."""
    if device not in ANY or pick_device(device).type != "cuda":
        return []
    given = os.environ.get(VISIBLE)
    names = given.split(",") if given else [str(number) for number in range(torch.accelerator.device_count())]
    return [{VISIBLE: name} for name in names]


def core_share(threads: int) -> Mapping[str, str]:
    """The environment variables that limit a process to this number of threads for computing and compiling."""
    return {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "TORCHINDUCTOR_COMPILE_THREADS")}


def usable_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
