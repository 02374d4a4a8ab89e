"""Time to a target: after how many steps and seconds a run's curve reaches a score; censored if it does not."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from normbench_cli.errors import UsageError
from normbench_cli.registry.spec import suggest
from normbench_cli.reporting import statistics
from normbench_cli.reporting.curves import curve_names
from normbench_cli.reporting.epoch_ends import epoch_ends
from normbench_cli.reporting.query import NothingMeasured
from normbench_cli.reporting.selection import Selection
from normbench_cli.store import Store
from normbench_cli.store.metric_names import higher_is_better
from normbench_cli.store.queries import metrics_frame

if TYPE_CHECKING:
    from normbench_cli.reporting.statistics import Time, TimeComparison

Unit = Literal["steps", "seconds"]
UNITS: tuple[Unit, ...] = ("steps", "seconds")
Times = Mapping[Hashable, "Time"]  # of a group's runs, by the key that pairs them


@dataclass(frozen=True)
class Target:
    """A score of a metric; a loss has to fall to it, an accuracy to rise."""

    metric: str
    value: float

    @property
    def rises(self) -> bool:
        return higher_is_better(self.metric) is True

    def is_reached(self, value: float) -> bool:
        return value >= self.value if self.rises else value <= self.value

    def __str__(self) -> str:
        return f"{self.metric} {'>=' if self.rises else '<='} {self.value:g}"


@dataclass(frozen=True)
class TargetGroup:
    """times: of the group's runs, by unit.  tests: against the reference, after Holm's correction; empty for itself."""

    times: Mapping[Unit, Times]
    tests: Mapping[Unit, TimeComparison] = field(default_factory=dict)

    @property
    def reached(self) -> int:
        return sum(time.reached for time in self.times["steps"].values())

    @property
    def runs(self) -> int:
        return len(self.times["steps"])

    def median(self, unit: Unit) -> float:
        return statistics.median_time(list(self.times[unit].values()))

    def curve(self, unit: Unit) -> list[tuple[float, float]]:
        return statistics.kaplan_meier(list(self.times[unit].values()))


@dataclass(frozen=True)
class TimesToTarget:
    """groups: by number.  references: each group's reference in the tests."""

    target: Target
    groups: Mapping[int, TargetGroup]
    references: Mapping[int, int]


def parse_target(text: str) -> Target:
    """``test/accuracy=0.9`` or ``test/accuracy=90%``"""
    metric, equals, number = text.partition("=")
    try:
        value = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        value = math.nan
    if not (metric and equals and math.isfinite(value)):
        raise UsageError(f"--target {text} is not a metric and a score", "write --target test/accuracy=0.9")
    if higher_is_better(metric) is None:
        raise UsageError(
            f"--target {metric}: it is not known whether higher or lower is better", "name an accuracy or a loss"
        )
    return Target(metric, value)


def times_to(
    store: Store, selection: Selection, target: Target, references: Mapping[int, int] | None = None
) -> TimesToTarget:
    """The times of every group.

    references: the baseline that each group is tested against.  Without it, all pairs are tested, and the test against
    the fastest group is shown.
    """
    groups = {group: TargetGroup(times) for group, times in read_times(store, selection, target).items()}
    pairs = list(references.items()) if references else list(combinations(groups, 2))
    pairs = [(a, b) for a, b in pairs if a in groups and b in groups]
    if not references:
        fastest = min(groups, key=lambda group: (groups[group].median("steps"), -groups[group].reached))
        references = {group: fastest for group in groups if group != fastest}
    tested = {unit: tested_pairs(groups, pairs, unit) for unit in UNITS}
    found = {}
    for group, one in groups.items():
        base = references.get(group)
        pair = next((pair for pair in pairs if set(pair) == {group, base}), None)
        found[group] = TargetGroup(one.times, {unit: tested[unit][pair] for unit in UNITS} if pair else {})
    return TimesToTarget(target, found, references)


def tested_pairs(
    groups: Mapping[int, TargetGroup], pairs: Sequence[tuple[int, int]], unit: Unit
) -> dict[tuple[int, int], TimeComparison]:
    """The test of each pair, after Holm's correction over all of them."""
    tests = [statistics.compare_times(groups[a].times[unit], groups[b].times[unit]) for a, b in pairs]
    corrected = statistics.holm([test.p for test in tests])
    return {
        pair: statistics.TimeComparison(p, test.test) for pair, test, p in zip(pairs, tests, corrected, strict=True)
    }


def read_times(store: Store, selection: Selection, target: Target) -> dict[int, dict[Unit, Times]]:
    """The times of the runs that finished or diverged, by group and unit."""
    runs = selection.runs[selection.runs["status"].isin(["finished", "diverged"])]
    scores = metrics_frame(store, runs["id"].tolist(), [target.metric], curve=True)
    if scores.empty:
        do = suggest(target.metric, curve_names(store, selection.finished))
        raise NothingMeasured(f"no run has a curve of '{target.metric}'", do)
    rows = list(reached_rows(store, selection, runs, scores, target))
    if not rows:
        raise NothingMeasured("no run has recorded the time of its steps", "leave out --target")
    found: dict[int, dict[Unit, dict[Hashable, Time]]] = {}
    frame = pd.DataFrame(rows)
    ends = {unit: float(frame[unit].max()) for unit in UNITS}
    for row in rows:
        for unit in UNITS:
            # a diverged run would never have reached it, however long the others ran
            at = max(row[unit], ends[unit]) if row["diverged"] and not row["reached"] else row[unit]
            found.setdefault(row["group"], {}).setdefault(unit, {})[row["key"]] = statistics.Time(at, row["reached"])
    return {group: dict(found[group]) for group in sorted(found)}


def reached_rows(
    store: Store, selection: Selection, runs: pd.DataFrame, scores: pd.DataFrame, target: Target
) -> Iterator[dict[str, Any]]:
    """Yield for each run its group, pairing key, steps and seconds until the target or its end, whether it was
    reached."""
    by_run = dict(list(scores.groupby("run_id")))
    for row in runs.to_dict("records"):
        ends = epoch_ends(store, row["id"])
        if row["id"] not in by_run or ends.empty:
            continue
        curve = by_run[row["id"]].merge(ends, left_on="epoch", right_on="at").sort_values("epoch")
        reached = curve[[target.is_reached(value) for value in curve["value"]]]
        last = reached.iloc[0] if len(reached) else ends.iloc[-1]
        yield {
            "group": row["group"],
            "key": tuple(row[name] for name in ("seed", *selection.pooled)),
            "steps": float(last["steps"]),
            "seconds": float(last["seconds"]),
            "reached": bool(len(reached)),
            "diverged": row["status"] == "diverged",
        }
