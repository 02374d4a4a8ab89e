"""The runs of suites as a long frame, with their cells' settings in the paper.

At the scales short and smoke a run's settings differ from the paper's; claims are about the paper's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from normbench_cli.config import IDENTITY
from normbench_cli.store import Store
from normbench_cli.store.queries import metrics_frame, runs_frame
from normbench_cli.suites import Place, Suite
from normbench_cli.suites.scales import paper_config


def claims_frame(
    store: Store, suites: Iterable[Suite], recorded: Mapping[Place, str], metrics: Sequence[str]
) -> pd.DataFrame:
    """Columns suite, the settings, run_id, metric, epoch and value.

    epoch is nan for a run's last value; the values of all epochs follow.  The last value of a diverged run is nan for
    every metric.
    """
    settings = pd.DataFrame(settings_rows(suites, recorded), columns=["suite", "run_id", *IDENTITY], dtype=object)
    settings = settings.drop_duplicates(["suite", "run_id", *IDENTITY])
    ids = settings["run_id"].unique().tolist()
    last = metrics_frame(store, ids, metrics).assign(epoch=float("nan"))
    curves = metrics_frame(store, ids, metrics, curve=True)
    status = runs_frame(store).set_index("id")["status"]
    diverged = [run_id for run_id in ids if status.get(run_id) == "diverged"]
    nan = pd.DataFrame([(run_id, name) for run_id in diverged for name in metrics], columns=["run_id", "metric"])
    last = last[~last["run_id"].isin(diverged)]
    values = [part for part in (last, nan.assign(epoch=float("nan"), value=float("nan")), curves) if not part.empty]
    if not values:
        return settings.assign(metric="", epoch=float("nan"), value=float("nan")).iloc[:0]
    return settings.merge(pd.concat(values, ignore_index=True), on="run_id")


def settings_rows(suites: Iterable[Suite], recorded: Mapping[Place, str]) -> Iterable[dict[str, Any]]:
    for suite in suites:
        cells = {(cell.row, cell.column): cell for cell in suite.cells if not cell.is_of_data}
        for place, run_id in recorded.items():
            if place.suite == suite.name and (cell := cells.get((place.row, place.column))):
                config = paper_config(cell, place.seed)
                yield {"suite": suite.name, "run_id": run_id} | {name: getattr(config, name) for name in IDENTITY}
