"""A score against the strength of a disturbance: accuracy by an attack's epsilon or a corruption's severity."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from normbench_cli.errors import UsageError
from normbench_cli.registry import ATTACKS
from normbench_cli.registry.spec import split_spec
from normbench_cli.store import Store
from normbench_cli.store.metric_names import MetricName, parse_metric
from normbench_cli.store.queries import metrics_frame

WITHOUT_EFFECT = {"keep": 1.0}  # parameters without effect at another value than 0: the share of channels kept


def by_strength(store: Store, runs: pd.DataFrame, name: str) -> tuple[pd.DataFrame, str]:
    """Columns group, at, value; and the parameter that `at` holds.

    The points are the metric `name` under its own condition, such as `bim`, and under all conditions that differ from
    it in one parameter.  The clean score is placed where the disturbance has no effect: at 0, or where all channels are
    kept.
    """
    wanted = parse_metric(name)
    component, fixed = split_spec(wanted.condition)
    latest = metrics_frame(store, runs["id"].tolist())
    params_of = {
        full: params for full, params in parameters_of(wanted, set(latest["metric"])).items() if fixed.items() <= params
    }
    varying = sorted({key for params in params_of.values() for key, _ in params} - set(fixed))
    if not varying:
        return pd.DataFrame(), ""
    if len(varying) > 1:
        raise UsageError(
            f"the measurements of '{name}' differ in {' and '.join(varying)}",
            f"fix all but one of them: {name}{',' if fixed else ':'}{varying[-1]}=...",
        )
    (parameter,) = varying
    default = default_strength(component, parameter)
    strengths = {full: float(dict(params).get(parameter, default)) for full, params in params_of.items()}
    strengths[str(MetricName(wanted.split, wanted.name, ""))] = WITHOUT_EFFECT.get(parameter, 0.0)
    found = latest[latest["metric"].isin(strengths)].merge(runs[["id", "group"]], left_on="run_id", right_on="id")
    return found.assign(at=found["metric"].map(strengths))[["group", "at", "value"]], parameter


def parameters_of(wanted: MetricName, recorded: Iterable[str]) -> dict[str, set[tuple[str, str]]]:
    """The recorded names of one metric under one component -> the component's parameters in each."""
    component, _ = split_spec(wanted.condition)
    found: dict[str, set[tuple[str, str]]] = {}
    for full in recorded:
        metric = parse_metric(full)
        if (metric.split, metric.name) == (wanted.split, wanted.name) and metric.condition:
            name, params = split_spec(metric.condition)
            if name == component:
                found[full] = set(params.items())
    return found


def default_strength(component: str, parameter: str) -> float:
    """A parameter's default, which metric names leave out.  A corruption's name always has its severity."""
    entry = ATTACKS.entries.get(component)
    return float(entry.defaults.get(parameter, float("nan"))) if entry else float("nan")
