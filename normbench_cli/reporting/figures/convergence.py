"""Figures of solvers: what `normbench profile --solver` recorded, one for each phi."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from normbench_cli.registry import NORMS
from normbench_cli.registry.spec import format_value
from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.figures.query import PlotQuery
from normbench_cli.reporting.profiles.solver import ERROR, figure_of
from normbench_cli.reporting.query import NothingMeasured
from normbench_cli.reporting.selection import Selection
from normbench_cli.store import Store
from normbench_cli.store.metric_names import parse_metric
from normbench_cli.store.queries import metrics_frame

PASSES = "+passes="


def make_convergence(store: Store, selection: Selection, _: PlotQuery) -> Iterator[Figure]:
    finished = selection.finished.sort_values("started_at", kind="stable")
    values = metrics_frame(store, finished["id"].tolist())
    found = pd.DataFrame(points_of(finished, values), columns=["phi", "group", "panel", "at", "error", "runs"])
    if found.empty:
        do = "`normbench profile --solver` makes some; add --kind profile"
        raise NothingMeasured("--plot convergence shows solvers, and none is selected", do)
    for phi, part in found.groupby("phi", sort=True):
        yield figure_of(str(phi), part.drop(columns="phi").sort_values(["group", "panel", "at"], ignore_index=True))


def points_of(runs: pd.DataFrame, values: pd.DataFrame) -> Iterator[dict[str, object]]:
    """A row for each error that a run recorded."""
    specs = dict(zip(runs["id"], runs["norm"], strict=True))
    for row in values.itertuples():
        name = parse_metric(str(row.metric))
        panel, passes, count = name.condition.partition(PASSES)
        if name.name == ERROR and passes and count.isdigit():
            spec = NORMS.parse(str(specs[row.run_id]))
            options = {**spec.entry.defaults, **spec.params}
            yield {
                "phi": format_value(options["phi"]),
                "group": str(options["solver"]).partition(":")[0],
                "panel": panel,
                "at": int(count),
                "error": row.value,
                "runs": (row.run_id,),
            }
