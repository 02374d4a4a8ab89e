"""torch's settings for a device as a configuration asks for them, in force for as long as it computes."""

from __future__ import annotations

from contextlib import AbstractContextManager

from normbench_cli.build.resolved_config import ResolvedConfig
from normbench_cli.device import Flags, pick_device, torch_flags


def flags_of(config: ResolvedConfig) -> AbstractContextManager[None]:
    """In this block torch computes as the configuration says, and afterwards as before."""
    flags = Flags(config.tf32, config.cudnn_benchmark, config.deterministic)
    return torch_flags(flags, pick_device(config.device))
