"""The figures of a tuning: score against a setting, and the expected best score against the budget."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd

from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.tuning.findings import Findings


def figures_of(found: Findings) -> Iterator[Figure]:
    tuning = found.tuning
    groups = [row.name for row in found.rows]
    points = pd.DataFrame(sensitivity_rows(found))
    if len(points):
        options = {"metric": tuning.metric, "setting": found.setting, "log": tuning.space[found.setting][2]}
        title = f"{tuning.metric} by {found.setting}"
        name = f"tune-{tuning.id}-sensitivity"
        yield Figure(title, name, "sensitivity", points, options | {"groups": groups})
    points = pd.DataFrame(budget_rows(found))
    if len(points):
        title = f"Expected best {tuning.metric} by number of trials"
        name = f"tune-{tuning.id}-expected-best"
        yield Figure(title, name, "expected_best", points, {"metric": tuning.metric, "groups": groups})


def sensitivity_rows(found: Findings) -> Iterator[dict[str, object]]:
    for row in found.rows:
        for trial in row.contender.trials:
            if math.isfinite(trial.score):
                yield {
                    "group": row.name,
                    "at": trial.values[found.setting],
                    "mean": trial.score,
                    "status": trial.status,
                    "runs": (trial.run,),
                }


def budget_rows(found: Findings) -> Iterator[dict[str, object]]:
    for row in found.rows:
        for point in row.expected:
            yield {
                "group": row.name,
                "at": point.trials,
                "mean": point.best,
                "low": point.low,
                "high": point.high,
                "n": len(row.expected),
            }
