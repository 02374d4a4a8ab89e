"""The fingerprint of a profile: settings, the plan, the hardware, and on a GPU its flags and limits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Protocol

from normbench_cli.build import ResolvedConfig

HARDWARE = ("device_name", "device", "threads", "versions")
ON_GPUS = ("flags", "limits", "driver")  # facts of an environment; a CPU has no flags
SPEED = ("compile", "compile_mode", "channels_last", "cudnn_benchmark", "deterministic", "pin_memory")  # settings


class Identified(Protocol):
    """A plan with the part of a profile's fingerprint that the configurations do not cover."""

    @property
    def identity(self) -> list[Any]: ...


def profile_fingerprint(own: str, config: ResolvedConfig, plan: Identified, facts: Mapping[str, Any]) -> str:
    """own: the configuration's fingerprint.  On a CPU, the settings of a GPU add nothing."""
    identity = [own, *plan.identity, {key: facts[key] for key in HARDWARE}]
    if "flags" in facts:
        settings = {name: getattr(config, name) for name in SPEED}
        identity.append({name: facts.get(name) for name in ON_GPUS} | settings)
    elif config.deterministic:
        identity.append({"deterministic": True})
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
