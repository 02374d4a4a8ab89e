"""A cache of what compiled and ran when `doctor` last tried it on this machine, valid in an unchanged environment.

Trying takes most of doctor's time: torch's compilers alone take seconds to load.  Only success is cached, for a week,
in the folder of the compile cache.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import torch

from normbench_cli import paths
from normbench_cli.device import device_name, driver_version, pick_device
from normbench_cli.disk import write_text
from normbench_cli.version import __version__

VALID_SECONDS = 7 * 24 * 3600
COMPILERS = ("g++", "clang++", "c++", "cl")
SETTINGS = ("CXX", "CC", "PATH", "NORMBENCH_COMPILE", "TORCHINDUCTOR_CACHE_DIR", "TORCHDYNAMO_DISABLE")


def file() -> Path:
    return paths.home() / "compiled" / "tried.json"


def circumstances() -> str:
    """A digest of everything that the trials depend on: versions, processor and device, compilers, settings."""
    device = pick_device()
    facts = [
        [__version__, torch.__version__, sys.version, platform.platform(), platform.machine()],
        [str(device), device_name(device), driver_version(device)],
        [os.environ.get(name) for name in SETTINGS],
        [compiler_facts(name) for name in (os.environ.get("CXX", ""), *COMPILERS) if name],
    ]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def compiler_facts(name: str) -> list[object]:
    """The executable of a compiler; if it changes or disappears, a new trial is needed."""
    path = shutil.which(name)
    if path is None:
        return [name]
    state = Path(path).resolve().stat()
    return [name, path, state.st_size, state.st_mtime]


def recall() -> dict[str, str] | None:
    """The result of each trial by name, if all succeeded under the same circumstances within a week."""
    try:
        kept = json.loads(file().read_text(encoding="utf-8"))
        if kept["circumstances"] != circumstances() or not 0 <= time.time() - kept["at"] < VALID_SECONDS:
            return None
        return {str(name): str(found) for name, found in kept["found"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def remember(found: Mapping[str, str]) -> None:
    """Cache the results of successful trials, if the folder is writable."""
    kept = {"circumstances": circumstances(), "at": time.time(), "found": dict(found)}
    try:
        file().parent.mkdir(parents=True, exist_ok=True)
        write_text(file(), json.dumps(kept))
    except OSError:
        return
