"""The facts about code and machine that are recorded with a run.  Runs with equal facts share one environment."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from normbench_cli.device import device_name, driver_version, flag_facts, gpu_state, limits, matmul_precision
from normbench_cli.git import run_git
from normbench_cli.version import __version__

PACKAGE = Path(__file__).parents[1]
PACKAGES = ("torch", "torchvision", "torch-geometric", "numpy", "scikit-learn", "sqlalchemy", "pandas")


def environment(device: torch.device) -> dict[str, Any]:
    sha, dirty = git_state(PACKAGE)
    facts = {
        "normbench": __version__,
        "git_sha": sha,
        "git_dirty": dirty,
        "python": platform.python_version(),
        "versions": {name: installed_version(name) for name in PACKAGES},
        "platform": platform.platform(),
        "host": socket.gethostname(),
        "device": device.type,
        "device_name": device_name(device),
        "driver": driver_version(device),
        "cpu_count": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "float32_matmul": matmul_precision(),
    }
    return facts | accelerator_facts(device)


def accelerator_facts(device: torch.device) -> dict[str, Any]:
    """The torch flags of an accelerator, and what limits its speed; empty on a CPU."""
    facts = {"flags": flag_facts(device), "limits": limits(gpu_state(device))}
    return {name: found for name, found in facts.items() if found}


def installed_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def git_state(folder: Path) -> tuple[str, bool]:
    """The commit of normbench's own source, empty for an installed copy, and whether there are uncommitted changes."""

    def git(*words: str) -> str:
        return run_git(folder, *words, timeout=10).stdout.decode(errors="replace").strip()

    try:
        if git("ls-files", "--", "__init__.py") == "":
            return "", False  # another project's repository, in which normbench is installed
        return git("rev-parse", "HEAD"), git("status", "--porcelain", "--", ".") != ""
    except (OSError, subprocess.SubprocessError):
        return "", False
