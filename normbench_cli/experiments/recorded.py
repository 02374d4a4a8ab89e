"""The configuration of a recorded run.  Its row may be anybody's: it loads no package that the user has not allowed."""

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
    """The configuration that a run was recorded with, and changes to it.

    allow: packages that it may load for components outside the registries, besides those remembered in the home.
    """
    trust = recorded_in(f"run {run.id}", allow)
    values = run.config | changes
    if recipes.is_file(str(values.get("recipe"))):  # nobody's row makes a file be read
        values = DEFAULTS | values
    try:
        return make_config(values, trust)
    except UsageError as error:  # not the caller's wrong usage
        raise NormbenchError(f"run {run.id}: its column config cannot be used: {error}") from error


def recorded_result(run_id: str, store: Store, allow: Packages = ()) -> RunResult:
    """A recorded run as a result."""
    run = store.find(run_id)
    metrics = store.latest_metrics(run.id)
    config = recorded_config(run, allow)
    return RunResult(run.id, run.status, config, metrics, run.message, fingerprint=run.fingerprint)


def with_own_packages(run: str | RunResult, allow: Packages) -> list[str]:
    """The packages that a caller allows, and those of the components of a result that he holds in his hands."""
    named = [allow] if isinstance(allow, str) else list(allow)
    return named if isinstance(run, str) else [*named, *packages_of(run.config)]


def packages_of(config: RunConfig) -> list[str]:
    """The packages outside the registries from which a configuration's components come."""
    outside = [name for field, registry in REGISTRIES.items() for name in registry.outside(getattr(config, field))]
    return sorted({name.partition(":")[0].partition(".")[0] for name in outside})
