"""A recorded run in the JSON of `runs list` and `runs show`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from normbench_cli.experiments.result import run_json

if TYPE_CHECKING:
    from normbench_cli.store.schema import Run

LISTED = ("id", "fingerprint", "status", "message", "config", "kind", "tag", "note", "started_at", "finished_at")
SHOWN = (*LISTED[:8], "argv", "started_at", "heartbeat_at", "finished_at", "host", "pid")


def listed(row: Mapping[Any, Any], metrics: Mapping[str, float]) -> dict[str, Any]:
    """A run in the JSON of `runs list`."""
    return run_json(**{name: row[name] for name in LISTED}, metrics=metrics)


def shown(run: Run, metrics: Mapping[str, float], **more: Any) -> dict[str, Any]:
    """A run in the JSON of `runs show`."""
    facts: dict[str, Any] = {name: getattr(run, name) for name in SHOWN}
    return run_json(**facts, metrics=metrics, environment=run.environment.facts, details=run.details, **more)
