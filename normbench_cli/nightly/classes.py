"""The class within which nights are compared: the same hardware, versions and cell settings.

normbench's own revision is not part of it: nights exist to detect its changes.  Neither is the host name, which changes
with every container, nor the kernel version.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from normbench_cli.nightly.cell import NightlyCell

HARDWARE = ("device", "device_name", "driver", "cpu_count", "threads", "deterministic", "float32_matmul", "python")
PACKAGES = ("torch", "torchvision", "torch-geometric", "numpy", "scikit-learn")  # those that compute or make data
DIGITS = 16


def class_facts(environment: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of an environment that define its class."""
    versions = environment.get("versions") or {}
    system = str(environment.get("platform", "")).partition("-")[0]
    facts = {name: environment.get(name) for name in HARDWARE} | {"system": system}
    facts |= {name: environment[name] for name in ("flags", "limits") if name in environment}  # of a GPU
    return facts | {"versions": {name: versions.get(name) for name in PACKAGES}}


def environment_class(environment: Mapping[str, Any], cell: NightlyCell) -> str:
    """Hash of hardware, versions and a cell's settings, sixteen hexadecimal digits."""
    own = {name: value for name, value in asdict(cell).items() if name != "name"}
    text = json.dumps([class_facts(environment), own], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def is_deterministic(environment: Mapping[str, Any]) -> bool:
    """Whether two runs of the same code agree to the last digit: on a CPU, or with torch set to deterministic."""
    return environment.get("device") == "cpu" or bool(environment.get("deterministic"))
