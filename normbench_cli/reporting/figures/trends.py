"""Figures of a trend: what the runs of each day measured, repeated runs included."""

from __future__ import annotations

from collections.abc import Iterator

from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.figures.groups import group_options, labels_of, summarized, usual_metric, values_of
from normbench_cli.reporting.figures.query import PlotQuery
from normbench_cli.reporting.selection import Selection
from normbench_cli.store import Store
from normbench_cli.store.queries import runs_frame


def make_trends(store: Store, selection: Selection, plot: PlotQuery) -> Iterator[Figure]:
    repeated = with_repeats(store, selection)
    labels = labels_of(selection)
    for metric in usual_metric(store, selection, plot.metrics):
        values = values_of(store, repeated, metric)
        values = values.assign(
            group=values["group"].map(labels), at=[f"{time:%Y-%m-%d}" for time in values["started_at"]]
        )
        options = {"metric": metric, **group_options(selection)}
        points = summarized(values, ["group", "at"]).sort_values(["group", "at"], ignore_index=True)
        yield Figure(f"{metric} by date", f"trend-{metric}", "trend", points, options)


def with_repeats(store: Store, selection: Selection) -> Selection:
    """The selection with every run of the same settings: a table counts a repeated run once, a trend each time."""
    groups = selection.runs.set_index("fingerprint")["group"]
    runs = runs_frame(store, kind=str(selection.runs["kind"].iloc[0]))
    runs = runs[runs["fingerprint"].isin(groups.index)]
    return Selection(
        runs.assign(group=runs["fingerprint"].map(groups)),
        selection.groups,
        selection.fields,
        selection.shown,
        selection.varying,
    )
