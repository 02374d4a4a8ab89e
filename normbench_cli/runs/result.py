"""What becomes of a run, and the one JSON form in which every command and Python caller gets it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from normbench_cli.config import RunConfig


@dataclass(frozen=True)
class RunResult:
    """A run and how it ended.

    id: empty where a run could not even begin.  status: finished, diverged, failed, interrupted or running.
    metrics: the last value of each metric by full name.  message: why it ended early.
    """

    id: str
    status: str
    config: RunConfig
    metrics: dict[str, float] = field(default_factory=dict)
    message: str = ""

    def to_json(self) -> dict[str, Any]:
        return run_json(
            id=self.id,
            status=self.status,
            fingerprint=self.config.fingerprint(),
            config=self.config.to_dict(),
            metrics=self.metrics,
            message=self.message,
        )


def run_json(
    *,
    id: str,
    status: str,
    fingerprint: str,
    config: Mapping[str, Any],
    metrics: Mapping[str, float],
    message: str = "",
    **details: Any,
) -> dict[str, Any]:
    """The keys that every run has in JSON, and after them the details that a command adds."""
    return {
        "id": id,
        "fingerprint": fingerprint,
        "status": status,
        "message": message,
        "config": dict(config),
        "metrics": dict(metrics),
        **details,
    }
