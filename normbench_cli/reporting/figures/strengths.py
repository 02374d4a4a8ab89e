"""Figures of a score against a strength: of an attack or a corruption, or of a setting such as the batch size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from normbench_cli.config import FIELDS
from normbench_cli.errors import UsageError
from normbench_cli.registry import ATTACKS
from normbench_cli.registry.spec import split_spec, suggest
from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.figures.groups import group_options, labels_of, summarized, usual_metric, values_of
from normbench_cli.reporting.figures.query import PlotQuery
from normbench_cli.reporting.query import NothingMeasured
from normbench_cli.reporting.robustness import by_strength
from normbench_cli.reporting.selection import Selection
from normbench_cli.store import Store
from normbench_cli.store.metric_names import parse_metric
from normbench_cli.store.queries import metrics_frame


def make_strengths(store: Store, selection: Selection, plot: PlotQuery) -> Iterator[Figure]:
    """Yield figures by a setting if one is named, else by the strength of each attack that the runs were scored
    under."""
    setting = plot.options.get("by", "")
    if setting and setting not in FIELDS:
        raise UsageError(f"--plot strength:by={setting}: there is no such setting", suggest(setting, list(FIELDS)))
    for metric in (
        usual_metric(store, selection, plot.metrics) if setting else disturbed(store, selection, plot.metrics)
    ):
        points = by_setting(store, selection, metric, setting) if setting else by_disturbance(store, selection, metric)
        title = f"{metric} by {points['unit_of_at'].iloc[0].replace('_', ' ')}"
        options = {"metric": metric, **group_options(selection, [setting])}
        yield Figure(title, f"strength-{metric}{f'-{setting}' if setting else ''}", "strength", points, options)


def by_setting(store: Store, selection: Selection, metric: str, setting: str) -> pd.DataFrame:
    """Group by all other settings that vary: the columns that distinguish the groups."""
    values = values_of(store, selection, metric)
    at = pd.to_numeric(values[setting], errors="coerce")
    if at.isna().all():
        raise UsageError(
            f"--plot strength:by={setting}: {setting} is not a number in these runs", "name batch_size, lr, ..."
        )
    labels = labels_of(selection, [setting])
    points = summarized(values.assign(at=at, group=values["group"].map(labels))[at.notna()], ["group", "at"])
    return points.assign(unit_of_at=setting)


def by_disturbance(store: Store, selection: Selection, metric: str) -> pd.DataFrame:
    found, parameter = by_strength(store, selection.finished, metric)
    if found.empty:
        raise NothingMeasured(
            f"'{metric}' was measured at one strength only",
            "`normbench eval RUN --attack bim:eps=0.01/0.03` measures several",
        )
    points = found.groupby(["group", "at"])["value"].agg(["mean", "std", "count"]).reset_index()
    points = points.rename(columns={"std": "sd", "count": "n"})
    return points.assign(group=points["group"].map(labels_of(selection)), unit_of_at=parameter)


def disturbed(store: Store, selection: Selection, metrics: Sequence[str]) -> list[str]:
    """The requested metrics, or the accuracy under each recorded attack."""
    if metrics:
        return list(metrics)
    recorded = map(parse_metric, sorted(set(metrics_frame(store, selection.finished["id"].tolist())["metric"])))
    accuracies = [metric for metric in recorded if (metric.split, metric.name) == ("test", "accuracy")]
    components = [split_spec(metric.condition)[0] for metric in accuracies if metric.condition]
    attacks = dict.fromkeys(name for name in components if name in ATTACKS.entries)
    if not attacks:
        raise NothingMeasured(
            "no run was scored under an attack",
            "`normbench eval RUN --attack bim` does, --plot strength:by=batch_size needs none",
        )
    return [f"test/accuracy@{name}" for name in attacks]
