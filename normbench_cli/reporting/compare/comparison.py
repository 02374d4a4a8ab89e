"""The comparison of two sides, with everything that is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from normbench_cli.registry.spec import suggest
from normbench_cli.reporting.compare.figures import curve_figures, profile_ratios, ratio_figure
from normbench_cli.reporting.compare.metrics import MetricComparison, compare_metrics
from normbench_cli.reporting.compare.settings import (
    Difference,
    differing_facts,
    differing_settings,
    pairing_settings,
)
from normbench_cli.reporting.compare.sides import Side, find_sides
from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.head import make_head
from normbench_cli.reporting.query import NothingMeasured, check_kind
from normbench_cli.reporting.report import DEFAULT_METRICS
from normbench_cli.store import Store
from normbench_cli.store.errors import NoDatabase
from normbench_cli.store.queries import metrics_frame


@dataclass(frozen=True)
class CompareQuery:
    """sides: each a run id or a filter; metrics: by default the usual ones; curves: in addition to those of the
    metrics; kind: train or profile, by default the one that both sides have."""

    sides: tuple[str, str]
    metrics: Sequence[str] = ()
    curves: Sequence[str] = ()
    kind: str = ""

    def __post_init__(self) -> None:
        if self.kind:
            check_kind(self.kind)


@dataclass(frozen=True)
class TwoSides:
    """pairing: the settings besides the seed that the runs of a pair share; ratios: from `profile_ratios`."""

    a: Side
    b: Side
    settings: list[Difference]
    facts: list[Difference]
    pairing: list[str]
    metrics: list[MetricComparison]
    ratios: pd.DataFrame
    figures: list[Figure]
    head: dict[str, str]


def compare(query: CompareQuery, db: str | None = None) -> TwoSides:
    """Compare two sides of a database (default: NORMBENCH_DB or the one in the home folder)."""
    try:
        with Store.open(db, write=False) as store:
            return compare_in(store, query)
    except NoDatabase as error:
        raise NothingMeasured(str(error)) from error


def compare_in(store: Store, query: CompareQuery) -> TwoSides:
    sides = find_sides(store, query.sides, query.kind)
    a, b = sides
    values = pd.concat([metrics_frame(store, side.finished["id"].tolist()) for side in sides])
    metrics = chosen_metrics(values, query.metrics)
    require_values(sides, values, metrics)
    profiles = (a.runs["kind"] == "profile").all()
    ratios = profile_ratios(store, a, b) if profiles else pd.DataFrame()
    figures = list(curve_figures(store, sides, dict.fromkeys([*metrics, *query.curves])))
    return TwoSides(
        a,
        b,
        differing_settings(a, b),
        differing_facts(store, a, b),
        pairing_settings(a, b),
        compare_metrics(a, b, values, metrics),
        ratios,
        [*figures, *([ratio_figure(ratios, sides)] if len(ratios) else [])],
        make_head(store, pd.concat([a.runs, b.runs])),
    )


def chosen_metrics(values: pd.DataFrame, asked: Sequence[str]) -> list[str]:
    """Return the requested metrics, else the usual ones that are recorded, else all."""
    recorded = set(values["metric"])
    for name in asked:
        if name not in recorded:
            raise NothingMeasured(
                f"no finished run of either side has the metric '{name}'", suggest(name, sorted(recorded))
            )
    return list(dict.fromkeys(asked)) or [name for name in DEFAULT_METRICS if name in recorded] or sorted(recorded)


def require_values(sides: tuple[Side, Side], values: pd.DataFrame, metrics: Sequence[str]) -> None:
    """Raise unless each side has measured something or diverged, which is also a result."""
    measured = set(values.loc[values["metric"].isin(metrics), "run_id"])
    for side in sides:
        if not measured & set(side.runs["id"]) and "diverged" not in side.statuses:
            counts = ", ".join(f"{count} {status}" for status, count in side.statuses.items())
            what = f"side {side.name} ('{side.text}') has measured nothing to compare ({counts})"
            raise NothingMeasured(what, "see `normbench runs list`")
