"""`report --kind profile`: one row per norm and place, one column per date, host or version.

Times of different days are not comparable, the ratios to a baseline are: both were interleaved in one profile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np

from normbench_cli.config import FIELDS
from normbench_cli.errors import UsageError
from normbench_cli.registry import NORMS
from normbench_cli.registry.spec import suggest
from normbench_cli.reporting.figures.profiles import paired_ratio
from normbench_cli.reporting.profiles.recorded import FACTS, Profile, places_of, read_profiles, times_of
from normbench_cli.reporting.query import NothingMeasured, ReportQuery
from normbench_cli.store import Store
from normbench_cli.store.errors import DamagedValue
from normbench_cli.store.filter import parse_where
from normbench_cli.store.queries import runs_frame

BASELINE = "batchnorm"
Row = dict[str, Any]


@dataclass(frozen=True)
class ProfileTable:
    """The measurements of profiles.  rows: norm, at, the facts in by and across, step_time_ms, ratio, ratio_low,
    ratio_high, n (rounds), started_at, run; oldest first.

    newest: the last row of each cell and column, which the table shows.
    """

    by: Sequence[str]
    across: Sequence[str]
    baseline: str
    rows: list[Row] = field(default_factory=list)

    @property
    def newest(self) -> list[Row]:
        names = ("norm", "at", *self.by, *self.across)
        return list({tuple(row[name] for name in names): row for row in self.rows}.values())


def shows_profiles(query: ReportQuery) -> bool:
    """Whether a report is this table: one of profiles that does not name metrics."""
    return query.kind == "profile" and not (query.metrics or query.curves or query.at or query.sort or query.test)


def facts_of_profiles(option: str, names: Sequence[str]) -> list[str]:
    for name in names:
        if name not in FACTS and name not in FIELDS:
            known = [*FACTS, *FIELDS]
            raise UsageError(f"{option} {name}: profiles do not record that", suggest(name, known))
    return list(names)


def profile_table(store: Store, query: ReportQuery) -> ProfileTable:
    """The table of the selected runs; the baseline need not be among them."""
    across = facts_of_profiles("--across", query.across) or ["date"]
    by = [name for name in facts_of_profiles("--by", query.by) if name not in ("norm", *across)]
    profiles = read_profiles(store)
    baseline = canonical(query.baseline) or BASELINE
    if query.baseline and not any(baseline in profile.runs for profile in profiles):
        norms = sorted({norm for profile in profiles for norm in profile.runs})
        raise UsageError(f"--baseline {query.baseline}: no profile has it", suggest(baseline, norms))
    shown = set(runs_frame(store, kind=query.kind, tag=query.tag, where=parse_where(query.where))["id"])
    rows = [row for profile in profiles for row in rows_of(store, profile, baseline, (*by, *across), shown)]
    if not (rows or query.plots):
        do = "`report --kind profile --plot convergence` shows solvers" if shown else "see `normbench runs list`"
        raise NothingMeasured("no finished profile of layers or models is recorded", do)
    return ProfileTable(by, across, baseline, rows)


def canonical(text: str) -> str:
    """A norm in its recorded form; `norm=bn` is allowed too."""
    name = text.removeprefix("norm=")
    try:
        return NORMS.canonical(name) if name else ""
    except UsageError:
        return name


def rows_of(store: Store, profile: Profile, baseline: str, names: Sequence[str], wanted: set[str]) -> Iterator[Row]:
    """Yield a row for each place of each wanted run; a run with damaged samples is left out and noted."""
    facts = {name: profile.fact(name) for name in names} | {"started_at": profile.started}
    read = cache(partial(times_of, store))  # the baseline's are needed repeatedly
    base_id = profile.runs.get(baseline)
    for norm, run_id in profile.runs.items():
        if run_id in wanted:
            try:
                yield from [
                    {"norm": norm, "at": place, **facts, **measured(read, run_id, base_id, place), "run": run_id}
                    for place in places_of(store, run_id)
                ]
            except DamagedValue as error:
                store.left_out[f"run {run_id}"] = str(error)


def measured(read: Callable[..., np.ndarray], run_id: str, base_id: str | None, place: str) -> Row:
    """Ratios are taken per round if both have equally many rounds."""
    own = read(run_id, place)
    base = read(base_id, place) if base_id else own[:0]
    paired = len(own) == len(base) > 0
    ratio, low, high = paired_ratio(own, base) if paired else (None, None, None)
    return {
        "step_time_ms": float(np.median(own)) if len(own) else None,
        "ratio": ratio,
        "ratio_low": low,
        "ratio_high": high,
        "n": len(own),
    }
