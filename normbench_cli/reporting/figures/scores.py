"""Figures of a score of each group: as bars, and against the group's cost."""

from __future__ import annotations

from collections.abc import Iterator

from normbench_cli.config import FIELDS
from normbench_cli.errors import UsageError
from normbench_cli.registry.spec import format_value, suggest
from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.figures.groups import group_options, labels_of, summarized, usual_metric, values_of
from normbench_cli.reporting.figures.query import PlotQuery
from normbench_cli.reporting.selection import Selection
from normbench_cli.store import Store

COSTS = ("step_time_ms", "peak_memory_bytes", "saved_activation_bytes")


def make_bars(store: Store, selection: Selection, plot: PlotQuery) -> Iterator[Figure]:
    part = plot.options.get("part", "")
    if part and part not in FIELDS:
        raise UsageError(f"--plot bars:part={part}: there is no such setting", suggest(part, list(FIELDS)))
    labels = labels_of(selection, [part])
    for metric in usual_metric(store, selection, plot.metrics):
        values = values_of(store, selection, metric)
        values = values.assign(
            group=values["group"].map(labels), part=f"{part} " + values[part].map(format_value) if part else ""
        )
        points = summarized(values, ["group", "part"])
        options = {"metric": metric, **group_options(selection, [part])}
        yield Figure(metric, f"bars-{metric}", "bars", points, options)


def make_pareto(store: Store, selection: Selection, plot: PlotQuery) -> Iterator[Figure]:
    (cost,) = usual_metric(store, selection, [plot.options["cost"]] if "cost" in plot.options else [], COSTS)
    costs = summarized(values_of(store, selection, cost), ["group"]).rename(columns={"mean": "cost", "sd": "cost_sd"})
    labels = labels_of(selection)
    for metric in usual_metric(store, selection, plot.metrics):
        points = summarized(values_of(store, selection, metric), ["group"])
        points = points.merge(costs[["group", "cost", "cost_sd"]], on="group")
        points = points.assign(group=points["group"].map(labels))
        options = {"metric": metric, "cost": cost, **group_options(selection)}
        yield Figure(f"{metric} and {cost}", f"pareto-{metric}-{cost}", "pareto", points, options)
