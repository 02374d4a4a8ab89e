"""Multi-process training in a nightly suite, as requested on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from normbench_cli.config import make_config
from normbench_cli.errors import UsageError
from normbench_cli.nightly.cell import NightlyCell, NightlySuite
from normbench_cli.registry.trust import Trust, recorded_in


def with_processes(suite: NightlySuite, settings: Mapping[str, Any]) -> NightlySuite:
    """The suite with `nproc` and `sync_norm` as given, overriding those of its trainings.

    Profiles and cross-validations keep their settings: they run in a single process.
    """
    if not settings:
        return suite
    trust = recorded_in(suite.source)
    trained = {
        cell.name for cell in suite.cells if cell.kind == "train" and not make_config(cell.settings, trust).folds
    }
    if not trained:
        raise UsageError(f"{suite.name} has no training that several processes can share", "drop --nproc, --sync-norm")
    return replace(
        suite,
        cells=tuple(changed(cell, settings, trust) if cell.name in trained else cell for cell in suite.cells),
    )


def changed(cell: NightlyCell, settings: Mapping[str, Any], trust: Trust) -> NightlyCell:
    """The cell with these settings, which must form a valid configuration."""
    cell = replace(cell, settings={**cell.settings, **settings})
    try:
        make_config(cell.settings, trust)
    except UsageError as error:
        raise UsageError(f"cell {cell.name}: {error}") from error
    return cell
