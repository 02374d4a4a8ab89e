"""The result of a run, and its JSON form, the same for all commands and Python callers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from normbench_cli.config import RunConfig


@dataclass(frozen=True)
class RunResult:
    """A run and how it ended.

    id: empty if the run could not even begin.  status: finished, diverged, failed, interrupted or running.
    metrics: the last value of each metric, by full name.  message: why the run ended early.  fingerprint: as recorded.
    lost: a message about data that could not be written anywhere.  elsewhere: whether another process ran it meanwhile,
    or is running it.
    """

    id: str
    status: str
    config: RunConfig
    metrics: dict[str, float] = field(default_factory=dict)
    message: str = ""
    fingerprint: str = field(kw_only=True)
    lost: str = field(default="", kw_only=True)
    elsewhere: bool = field(default=False, kw_only=True)

    def to_json(self) -> dict[str, Any]:
        return run_json(
            id=self.id,
            fingerprint=self.fingerprint,
            status=self.status,
            message=self.message,
            config=self.config.to_dict(),
            metrics=self.metrics,
        )


def run_json(
    *,
    id: str,
    fingerprint: str,
    status: str,
    message: str,
    config: Mapping[str, Any],
    metrics: Mapping[str, float],
    **details: Any,
) -> dict[str, Any]:
    """The JSON keys that every run has, followed by the details that a command adds."""
    return {
        "id": id,
        "fingerprint": fingerprint,
        "status": status,
        "message": message,
        "config": dict(config),
        "metrics": dict(metrics),
        **details,
    }


def run_id_of(run: str | RunResult) -> str:
    """The id, or prefix of an id, of the run that a caller names."""
    return run.id if isinstance(run, RunResult) else run
