"""On which processors, and with how many threads, a profile is measured."""

from __future__ import annotations

import os
from typing import Any

import torch


def affinity() -> list[int]:
    """The processors that this process may use; empty where the system does not tell."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def thread_facts() -> dict[str, Any]:
    """What an environment records of a profile besides the number of threads."""
    return {"affinity": affinity(), "interop_threads": torch.get_num_interop_threads()}
