"""Figures of ratios: step times relative to a reference, from the raw samples of a profile's rounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy import select

from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.figures.groups import labels_of
from normbench_cli.reporting.figures.query import PlotQuery
from normbench_cli.reporting.query import NothingMeasured
from normbench_cli.reporting.selection import Selection
from normbench_cli.store import Store
from normbench_cli.store.queries import series, series_names
from normbench_cli.store.schema import Run

REFERENCE = "batchnorm"
TIME = "step_time_ms"
BOOTSTRAPS = 2000


def make_ratios(store: Store, selection: Selection, plot: PlotQuery) -> Iterator[Figure]:
    reference = plot.options.get("reference", REFERENCE)
    runs = selection.finished[selection.finished["kind"] == "profile"]
    if runs.empty:
        raise NothingMeasured("--plot ratios shows profiles, and none is selected", "add --kind profile")
    runs = runs.assign(session=sessions(store, runs["id"].tolist()))
    labels, rows = labels_of(selection), list[dict[str, Any]]()
    for _, together in runs.groupby(["session", "batch_size"], sort=False, dropna=False):
        base = together[together["norm"] == reference]
        for run in together.itertuples():
            if len(base) and run.norm != reference:
                rows += place_ratios(store, run.id, base["id"].tolist(), labels[run.group])
    if not rows:
        norms = ", ".join(sorted(set(runs["norm"])))
        raise NothingMeasured(
            f"no profile measured '{reference}' beside another norm", f"name one of {norms}: reference=..."
        )
    options = {"metric": TIME, "reference": reference}
    yield Figure(f"Step time relative to {reference}", f"ratios-{reference}", "ratios", pd.DataFrame(rows), options)


def sessions(store: Store, run_ids: Sequence[str]) -> list[tuple[Any, ...]]:
    """The process, model and data of each run: rounds are comparable if these agree, as the norms were interleaved."""
    query = select(Run.id, Run.host, Run.pid, Run.process_started, Run.model, Run.act, Run.data)
    with store.reading() as session:
        found = {row[0]: tuple(row[1:]) for row in session.execute(query.where(Run.kind == "profile"))}
    return [found[run_id] for run_id in run_ids]


def place_ratios(store: Store, run_id: str, reference_ids: Sequence[str], group: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each shape or model that the run and a reference measured in equally many rounds.

    A sweep has one reference per value.
    """
    of_reference = {name: one for one in reversed(reference_ids) for name in series_names(store, one)}
    for name in series_names(store, run_id):
        metric, _, place = name.partition("@")
        reference_id = of_reference.get(name, reference_ids[0])
        own, base = (series(store, one, name).to_numpy("float64") for one in (run_id, reference_id))
        if metric == TIME and len(own) == len(base) > 0:
            ratio, low, high = paired_ratio(own, base)
            yield {
                "group": group,
                "at": place,
                "ratio": ratio,
                "low": low,
                "high": high,
                "runs": (run_id, reference_id),
            }


def paired_ratio(own: np.ndarray, base: np.ndarray, seed: int = 0) -> tuple[float, float, float]:
    """The median of the per-round ratios with its 95 % interval: the bootstrap's, but never narrower than a sign
    test's, as in the profile's own output.

    Ratios are taken per round, because what slows down the machine slows down both runs of a round.
    """
    ratios = np.sort(own / base)
    medians = np.median(np.random.default_rng(seed).choice(ratios, (BOOTSTRAPS, len(ratios))), axis=1)
    low, high = np.percentile(medians, (2.5, 97.5))
    beyond = rounds_beyond(len(ratios))
    return (
        float(np.median(ratios)),
        min(float(low), float(ratios[beyond])),
        max(float(high), float(ratios[-1 - beyond])),
    )


def rounds_beyond(rounds: int) -> int:
    """How many ratios a sign test leaves outside on each side: the largest k for which at most k heads in `rounds` coin
    tosses have a probability of at most 2.5 %."""
    cases = cumulative = 1
    count = 0
    while 40 * cumulative <= 2**rounds:  # in integers, which do not overflow
        count += 1
        cases = cases * (rounds - count + 1) // count
        cumulative += cases
    return max(0, count - 1)
