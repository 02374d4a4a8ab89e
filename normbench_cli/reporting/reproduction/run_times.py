"""How long the recorded runs took, from start to end; pauses of an interrupted run are included."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import fmean

import pandas as pd

RunTimes = Mapping[str, float]  # run -> seconds


def run_times(runs: pd.DataFrame) -> dict[str, float]:
    """The run times of the runs that ended."""
    ended = runs[runs["finished_at"].notna()]
    return {
        str(run.id): (run.finished_at - run.started_at).total_seconds()
        for run in ended[["id", "started_at", "finished_at"]].itertuples()
    }


def mean_time(times: RunTimes, runs: Iterable[str]) -> float | None:
    """Mean seconds per run; None if no run time is known."""
    known = [times[run] for run in runs if run in times]
    return fmean(known) if known else None
