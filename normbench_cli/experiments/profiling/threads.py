"""The processors and threads on which a profile is measured."""

from __future__ import annotations

import os
from typing import Any

import torch


def affinity() -> list[int]:
    """The processors that this process may use; empty where the system does not report them."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def thread_facts() -> dict[str, Any]:
    """The facts that a profile's environment has besides the number of threads."""
    return {"affinity": affinity(), "interop_threads": torch.get_num_interop_threads()}
