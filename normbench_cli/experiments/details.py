"""The details recorded when a run begins: its data, the source of its components, the checkout's changes, and the
state of the GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from normbench_cli import build
from normbench_cli.config import RunConfig
from normbench_cli.device import gpu_state, pick_device
from normbench_cli.experiments.checkout_diff import checkout_diff
from normbench_cli.experiments.environment import PACKAGE
from normbench_cli.experiments.identity import fingerprint_parts, revisions_of, sources_of, specs_of


def details_of(config: RunConfig, environment: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the fingerprint and the details of a run on the data that are loaded now."""
    loaded = build.loaded_data(config.data)
    sources = sources_of(specs_of(config))
    details: dict[str, Any] = {"data": loaded.describe()}
    if sources:
        details["sources"] = {name: source._asdict() for name, source in sources.items()}
    if revisions := revisions_of(config):
        details["revisions"] = revisions
    if state := gpu_state(pick_device(config.device)):
        details["gpu"] = state.to_dict()
    if environment["git_dirty"] and (diff := checkout_diff(PACKAGE)):
        details["diff"] = diff
    return config.fingerprint(fingerprint_parts(loaded.identity, sources, revisions_of(config))), details
