"""The recorded schedule that was chosen for the scale `short` and a time budget.

It is stored as a run of the kind `plan`, so the same command finds it and continues with the same schedule, on which
the fingerprints of its runs depend.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from normbench_cli.experiments.plan import newest_runs
from normbench_cli.store import Store
from normbench_cli.suites import Scale, Suite


def recorded_scale(suites: Sequence[Suite], scale: Scale, budget: float, db: str | None) -> tuple[Scale, float] | None:
    """Return the scale chosen earlier for these suites and this budget, and the estimated seconds of all its runs."""
    key = plan_fingerprint(suites, scale, budget)
    run_id, status = newest_runs([key], db).get(key, ("", ""))
    if status != "finished":
        return None
    with Store.open(db, write=False) as store:
        metrics = store.latest_metrics(run_id)
    chosen = replace(scale, fraction=metrics["fraction"], most_seeds=int(metrics["most_seeds"]))
    return chosen, metrics["estimated_s"]


def plan_fingerprint(suites: Sequence[Suite], scale: Scale, budget: float) -> str:
    text = json.dumps(["plan", [suite.digest() for suite in suites], scale.seeds, budget])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def record_scale(
    suites: Sequence[Suite],
    asked: Scale,
    chosen: Scale,
    budget: float,
    seconds: float,
    environment: Mapping[str, Any],
    db: str | None,
) -> None:
    """Record the chosen scale.  seconds: the estimated time of its runs."""
    config = {"suites": [suite.name for suite in suites], "budget_s": budget, "seeds": list(asked.seeds)}
    with Store.open(db) as store:
        key = plan_fingerprint(suites, asked, budget)
        run_id = store.begin(config, key, environment, kind="plan", argv=["reproduce"])
        facts = {"fraction": chosen.fraction, "most_seeds": chosen.most_seeds, "estimated_s": seconds}
        store.record(run_id, facts)
        store.end(run_id, "finished")
