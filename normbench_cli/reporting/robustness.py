"""How a score falls as a disturbance grows: accuracy against an attack's epsilon, a corruption's severity."""

from __future__ import annotations

import pandas as pd

from normbench_cli.errors import UsageError
from normbench_cli.registry import ATTACKS
from normbench_cli.registry.spec import split_spec
from normbench_cli.store import Store
from normbench_cli.store.metric_names import MetricName, parse_metric
from normbench_cli.store.queries import metrics_frame


def by_strength(store: Store, runs: pd.DataFrame, name: str) -> tuple[pd.DataFrame, str]:
    """Columns group, at, value, and the parameter that `at` is, of all measurements under a condition like `bim` that
    differ from it in one parameter.  The clean score stands at 0, where every disturbance is none."""
    wanted = parse_metric(name)
    component, fixed = split_spec(wanted.condition)
    latest = metrics_frame(store, runs["id"].tolist())
    conditions: dict[str, dict[str, str]] = {}
    for full in set(latest["metric"]):
        one = parse_metric(full)
        if (one.split, one.name) == (wanted.split, wanted.name) and one.condition.partition(":")[0] == component:
            _, conditions[full] = split_spec(one.condition)
    conditions = {full: given for full, given in conditions.items() if fixed.items() <= given.items()}
    varying = sorted({key for given in conditions.values() for key in given if key not in fixed})
    if not conditions or not varying:
        return pd.DataFrame(), ""
    if len(varying) > 1:
        raise UsageError(
            f"the measurements of '{name}' differ in {' and '.join(varying)}",
            f"fix all but one of them: {name}:{varying[-1]}=...",
        )
    (parameter,) = varying
    places = {full: float(given.get(parameter, default_of(component, parameter))) for full, given in conditions.items()}
    places[str(MetricName(wanted.split, wanted.name, ""))] = 0.0
    found = latest[latest["metric"].isin(places)].merge(runs[["id", "group"]], left_on="run_id", right_on="id")
    return found.assign(at=found["metric"].map(places))[["group", "at", "value"]], parameter


def default_of(component: str, parameter: str) -> float:
    """A parameter's default, read from the source: names of metrics leave it out, and a report loads no torch.
    Corruptions always name their severity."""
    entry = ATTACKS.entries.get(component)
    return float(entry.defaults.get(parameter, float("nan"))) if entry else float("nan")
