"""torch's device settings as a configuration requests them, for the duration of its run."""

from __future__ import annotations

from contextlib import AbstractContextManager

from normbench_cli.build.resolved_config import ResolvedConfig
from normbench_cli.device import Flags, pick_device, torch_flags


def flags_of(config: ResolvedConfig) -> AbstractContextManager[None]:
    """Within the block, torch computes as the configuration says; then its settings are restored."""
    flags = Flags(config.tf32, config.cudnn_benchmark, config.deterministic)
    return torch_flags(flags, pick_device(config.device))
