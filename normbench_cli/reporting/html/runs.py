"""The details of the runs in compact form: what runs share is in the page once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from normbench_cli.reporting.html.text import json_value

SHARED = ("environment", "settings")  # parts that many runs have in common


def runs_data(runs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """``{"shared": [...], "runs": {id: {...}}}``; the parts of a run that others may share are indices into
    `shared`."""
    shared: dict[str, int] = {}
    kept = {run_id: slim(details, shared) for run_id, details in runs.items()}
    return {"shared": [json.loads(text) for text in shared], "runs": kept}


def slim(details: Mapping[str, Any], shared: dict[str, int]) -> dict[str, Any]:
    """Store each name and value of a setting or fact once."""
    found: dict[str, Any] = {}
    for part, value in details.items():
        value = json_value(value)
        if part in SHARED and isinstance(value, Mapping):
            found[part] = [shared.setdefault(json.dumps(pair), len(shared)) for pair in value.items()]
        else:
            found[part] = value
    return found
