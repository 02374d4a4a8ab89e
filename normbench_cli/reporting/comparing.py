"""Which groups of a report are the best, which a paired test cannot tell from them, how far all are from a baseline.

Groups are compared with each other where they measure the same: within a column of the table, and on the same data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from normbench_cli.config import REGISTRIES
from normbench_cli.errors import UsageError
from normbench_cli.registry.spec import format_value, suggest
from normbench_cli.reporting.selection import Selection
from normbench_cli.store.metric_names import higher_is_better

Key = tuple[int, str]  # a group and a metric


@dataclass(frozen=True)
class Comparisons:
    """best, ties: the groups with the best mean of a metric, and those that the test does not find different from it.

    differences: of a group to its baseline group, with the columns of `statistics.Comparison` and ``p_holm``;
    baseline: the setting and value of the baseline; limits: what the number of seeds cannot support.
    """

    best: frozenset[Key] = frozenset()
    ties: frozenset[Key] = frozenset()
    differences: dict[Key, dict[str, Any]] = field(default_factory=dict)
    baseline: tuple[str, Any] | None = None
    limits: tuple[str, ...] = ()


def compare(
    selection: Selection,
    values: pd.DataFrame,
    summary: pd.DataFrame,
    across: Sequence[str],
    baseline: str,
    *,
    test: bool,
) -> Comparisons:
    """values: a run's value of each metric; summary: the groups' means."""
    best = frozenset(best_groups(selection, summary, across))
    wanted = find_baseline(baseline, selection) if baseline else None
    if not test and wanted is None:
        return Comparisons(best)
    paired = paired_values(selection, values)
    ties, too_few = tied_groups(selection, paired, across) if test else (frozenset[Key](), ())
    differences = baseline_differences(selection, paired, *wanted) if wanted else {}
    limits = dict.fromkeys(sentence for found in differences.values() for sentence in found["limits"])
    return Comparisons(best, ties - best, differences, wanted, (*too_few, *limits))


def blocks(selection: Selection, fields: Sequence[str]) -> list[list[int]]:
    """The groups that agree in these settings."""
    fields = [name for name in fields if name in selection.fields]
    if not fields:
        return [selection.groups.index.tolist()]
    found: dict[tuple[Any, ...], list[int]] = {}
    for group, key in zip(selection.groups.index, selection.groups[fields].itertuples(index=False), strict=True):
        found.setdefault(tuple(key), []).append(group)
    return list(found.values())


def best_groups(selection: Selection, summary: pd.DataFrame, across: Sequence[str]) -> Iterator[Key]:
    """Of each metric that has a better end, the groups with the best mean; a group alone is not the best of any."""
    means = {(row.group, row.metric): row.mean for row in summary.itertuples() if row.mean == row.mean}
    for metric in dict.fromkeys(summary["metric"]):
        higher = higher_is_better(metric)
        for block in blocks(selection, [*across, "data"]) if higher is not None else []:
            found = {group: means[group, metric] for group in block if (group, metric) in means}
            if len(found) > 1:
                extreme = (max if higher else min)(found.values())
                yield from ((group, metric) for group, mean in found.items() if mean == extreme)


def paired_values(selection: Selection, values: pd.DataFrame) -> pd.DataFrame:
    """Columns group, metric, seed, value: of finished runs, and nan for those that diverged.

    seed: what pairs two runs, the seed and all settings that a group pools.
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
    """The groups that the test does not find different from the best; and why it could not, where it could not."""
    from normbench_cli.reporting.statistics import compare_groups

    found: list[Key] = []
    limits: dict[str, None] = {}
    for metric, values in paired.dropna().groupby("metric", sort=False):
        higher = higher_is_better(str(metric))
        for block in blocks(selection, [*across, "data"]) if higher is not None else []:
            part = values[values["group"].isin(block)]
            runs = part["group"].value_counts()
            part = part[part["group"].isin(runs[runs > 1].index)]  # a single run is no test
            groups = part["group"].nunique()
            if groups > 1:
                ties = compare_groups(part, higher_is_better=bool(higher)).ties
                found += [(int(str(group)), str(metric)) for group in ties]
                limits |= dict.fromkeys(limit_of_ties(int(runs.max()), groups))
    return frozenset(found), tuple(limits)


def limit_of_ties(n: int, groups: int) -> Iterator[str]:
    """Why no group can be told from the best, where n seeds are too few for that."""
    from normbench_cli.reporting.statistics.paired import LEVEL
    from normbench_cli.reporting.statistics.power import seeds_for_level, smallest_p_value

    pairs = groups * (groups - 1) // 2
    if smallest_p_value(n) * pairs > LEVEL:
        yield (
            f"with n={n} the permutation test cannot go below p={smallest_p_value(n):.3g}, so over the {pairs} pairs of"
            f" {groups} groups it tells none from the best: that takes at least {seeds_for_level(LEVEL / pairs)} seeds"
        )


def find_baseline(text: str, selection: Selection) -> tuple[str, Any]:
    """The setting and the value that ``batchnorm`` or ``norm=bn`` names, among those of the groups."""
    name, equals, value = text.partition("=")
    fields, wanted = ([name], value) if equals and name in selection.fields else (selection.fields, text)
    for setting in fields:
        for found in selection.groups[setting].unique():
            if found == wanted or format_value(found) == canonical(setting, wanted):
                return setting, found
    choices = [format_value(found) for setting in selection.shown for found in selection.groups[setting].unique()]
    raise UsageError(f"--baseline {text}: no group has it", suggest(text, list(dict.fromkeys(choices))))


def canonical(setting: str, text: str) -> str:
    """A spec as it is recorded; the text itself if it is none of this setting."""
    try:
        return REGISTRIES[setting].canonical(text) if setting in REGISTRIES else text
    except UsageError:
        return text


def baseline_differences(
    selection: Selection, paired: pd.DataFrame, setting: str, value: Any
) -> dict[Key, dict[str, Any]]:
    """Each group against the one that has the baseline's value and is otherwise the same; p-values are corrected by
    Holm over all of them, a metric at a time."""
    from normbench_cli.reporting.statistics import holm
    from normbench_cli.reporting.statistics.groups import by_seed, compared
    from normbench_cli.reporting.statistics.paired import LEVEL

    references = dict(baseline_groups(selection, setting, value))
    found: dict[Key, dict[str, Any]] = {}
    for metric, part in paired.groupby("metric", sort=False):
        seeds = by_seed(part)
        pairs = [(group, base) for group, base in references.items() if group in seeds and base in seeds]
        rows = [compared(seeds[group], seeds[base], LEVEL, len(pairs)) for group, base in pairs]
        corrected = holm([row["p_permutation"] for row in rows])
        for (group, _), row, p in zip(pairs, rows, corrected, strict=True):
            found[group, str(metric)] = row | {"p_holm": p}
    return found


def baseline_groups(selection: Selection, setting: str, value: Any) -> Iterator[tuple[int, int]]:
    """Each other group, with the group that has the baseline's value and otherwise its own settings."""
    for block in blocks(selection, [name for name in selection.fields if name != setting]):
        base = [group for group in block if selection.groups.loc[group, setting] == value]
        yield from ((group, base[0]) for group in block if base and group != base[0])
