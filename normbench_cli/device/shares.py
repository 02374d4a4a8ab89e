"""Dividing a machine among processes that run side by side: who sees which accelerator, who computes on which cores."""

from __future__ import annotations

import os
from collections.abc import Mapping

import torch

from normbench_cli.device.choose import pick_device

VISIBLE = "CUDA_VISIBLE_DEVICES"
ANY = ("auto", "cuda")  # names of devices that leave open which one


def accelerator_shares(device: str) -> list[dict[str, str]]:
    """For each accelerator among which `device` leaves a choice, the variables with which a process sees it alone."""
    if device not in ANY or pick_device(device).type != "cuda":
        return []
    given = os.environ.get(VISIBLE)
    names = given.split(",") if given else [str(number) for number in range(torch.accelerator.device_count())]
    return [{VISIBLE: name} for name in names]


def core_share(threads: int) -> Mapping[str, str]:
    """The variables with which a process computes on so many threads, compiles on as many, and keeps to them."""
    return {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "TORCHINDUCTOR_COMPILE_THREADS")}


def usable_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
