"""A constant learning rate."""

from __future__ import annotations

from normbench_cli.registry import SCHEDULES


@SCHEDULES.register("constant")
def constant(progress: float) -> float:  # noqa: ARG001
    """The same rate throughout."""
    return 1.0
