"""The paired tests of a report: groups not significantly different from the best, and differences to a baseline.

Loads scipy.stats, so it is imported only by reports that use tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from normbench_cli.reporting.selection import Selection
from normbench_cli.reporting.statistics import compare_groups, holm
from normbench_cli.reporting.statistics.groups import by_seed, compared
from normbench_cli.reporting.statistics.paired import LEVEL
from normbench_cli.reporting.statistics.power import seeds_for_level, smallest_p_value
from normbench_cli.store.metric_names import higher_is_better

Key = tuple[int, str]  # a group and a metric


def paired_values(selection: Selection, values: pd.DataFrame) -> pd.DataFrame:
    """Columns group, metric, seed, value: of finished runs, nan for diverged ones.

    seed: what two runs are paired by, the seed and all settings that a group pools.
    """
    runs = selection.runs[selection.runs["status"].isin(["finished", "diverged"])]
    seeds = list(runs[["seed", *selection.pooled]].itertuples(index=False, name=None))
    runs = runs[["id", "group", "status"]].assign(seed=pd.Series(seeds, index=runs.index, dtype=object))
    joined = runs.merge(values, left_on="id", right_on="run_id")
    diverged = runs[runs["status"] == "diverged"]
    missing = [
        diverged.assign(metric=metric, value=float("nan")) for metric in values["metric"].unique() if len(diverged)
    ]
    return pd.concat([joined[joined["status"] == "finished"], *missing])[["group", "metric", "seed", "value"]]


def tied_groups(
    selection: Selection, paired: pd.DataFrame, across: Sequence[str]
) -> tuple[frozenset[Key], tuple[str, ...]]:
    """The groups not significantly different from the best; and why the test could find no difference, if so."""
    found: list[Key] = []
    compared_sizes: set[tuple[int, int]] = set()  # number of groups and of seeds
    for metric, values in paired.dropna().groupby("metric", sort=False):
        higher = higher_is_better(str(metric))
        for block in selection.blocks([*across, "data"]) if higher is not None else []:
            part = values[values["group"].isin(block)]
            runs = part["group"].value_counts()
            part = part[part["group"].isin(runs[runs > 1].index)]  # a single run cannot be tested
            groups = part["group"].nunique()
            if groups > 1:
                ties = compare_groups(part, higher_is_better=bool(higher)).ties
                found += [(int(str(group)), str(metric)) for group in ties]
                compared_sizes.add((groups, int(runs.max())))
    largest = max(compared_sizes, default=None)  # one note, for the most groups
    return frozenset(found), tuple(limit_of_ties(*largest) if largest else ())


def limit_of_ties(groups: int, n: int) -> Iterator[str]:
    """Yield why no group differs significantly from the best, if n seeds are too few for that."""
    pairs = groups * (groups - 1) // 2
    if smallest_p_value(n) * pairs > LEVEL:
        over = f"over the {pairs} pairs of {groups} groups" if pairs > 1 else "of two groups"
        yield (
            f"with n={n} the permutation test cannot go below p={smallest_p_value(n):.3g}, so {over} it tells none "
            f"from the best: that takes at least {seeds_for_level(LEVEL / pairs)} seeds"
        )


def baseline_differences(paired: pd.DataFrame, references: Mapping[int, int]) -> dict[Key, dict[str, Any]]:
    """Compare each group with its reference; p-values are Holm-corrected over all groups, separately for each
    metric."""
    found: dict[Key, dict[str, Any]] = {}
    for metric, part in paired.groupby("metric", sort=False):
        seeds = by_seed(part)
        pairs = [(group, base) for group, base in references.items() if group in seeds and base in seeds]
        rows = [compared(seeds[group], seeds[base], LEVEL, len(pairs)) for group, base in pairs]
        corrected = holm([row["p_permutation"] for row in rows])
        for (group, _), row, p in zip(pairs, rows, corrected, strict=True):
            found[group, str(metric)] = row | {"p_holm": p}
    return found
