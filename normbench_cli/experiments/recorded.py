"""The configuration of a recorded run.  Rows are not trusted: they load no package that the user has not allowed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from normbench_cli import recipes
from normbench_cli.config import DEFAULTS, REGISTRIES, RunConfig, make_config
from normbench_cli.errors import NormbenchError, UsageError
from normbench_cli.experiments.result import RunResult
from normbench_cli.registry.trust import recorded_in
from normbench_cli.store import Store
from normbench_cli.store.schema import Run

Packages = str | Iterable[str]


def recorded_config(run: Run, allow: Packages = (), **changes: Any) -> RunConfig:
    """The configuration that a run was recorded with, after changes.

    allow: packages that it may load external components from, besides those allowed permanently.
    """
    trust = recorded_in(f"run {run.id}", allow)
    values = run.config | changes
    if recipes.is_file(str(values.get("recipe"))):  # a row must not cause a file to be read
        values = DEFAULTS | values
    try:
        return make_config(values, trust)
    except UsageError as error:  # not a usage error of the caller
        raise NormbenchError(f"run {run.id}: its column config cannot be used: {error}") from error


def recorded_result(run_id: str, store: Store, allow: Packages = ()) -> RunResult:
    """A recorded run as a result."""
    run = store.find(run_id)
    metrics = store.latest_metrics(run.id)
    config = recorded_config(run, allow)
    return RunResult(run.id, run.status, config, metrics, run.message, fingerprint=run.fingerprint)


def with_own_packages(run: str | RunResult, allow: Packages) -> list[str]:
    """The packages that a caller allows; if the run is given as a result, also those of its components."""
    named = [allow] if isinstance(allow, str) else list(allow)
    return named if isinstance(run, str) else [*named, *packages_of(run.config)]


def packages_of(config: RunConfig) -> list[str]:
    """The packages of a configuration's external components."""
    outside = [name for field, registry in REGISTRIES.items() for name in registry.outside(getattr(config, field))]
    return sorted({name.partition(":")[0].partition(".")[0] for name in outside})
