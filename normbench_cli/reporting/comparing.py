"""The best groups of a report, those not significantly different from them, and differences to a baseline.

Groups are compared where they measure the same: within a column of the table, and on the same data.
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
    """best, ties: the groups with the best mean of a metric, and those not significantly different from it.

    differences: of a group to its baseline group, with the fields of `statistics.Comparison` and ``p_holm``;
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
    """values: each run's value of each metric; summary: the groups' means."""
    best = frozenset(best_groups(selection, summary, across))
    wanted = find_baseline(baseline, selection) if baseline else None
    if not test and wanted is None:
        return Comparisons(best)
    from normbench_cli.reporting import paired_tests

    paired = paired_tests.paired_values(selection, values)
    ties, too_few = paired_tests.tied_groups(selection, paired, across) if test else (frozenset[Key](), ())
    references = dict(baseline_groups(selection, *wanted)) if wanted else {}
    differences = paired_tests.baseline_differences(paired, references)
    limits = dict.fromkeys(sentence for found in differences.values() for sentence in found["limits"])
    return Comparisons(best, ties - best, differences, wanted, (*too_few, *limits))


def best_groups(selection: Selection, summary: pd.DataFrame, across: Sequence[str]) -> Iterator[Key]:
    """Yield the groups with the best mean of each metric that has a direction; a single group is never the best."""
    means = {(row.group, row.metric): row.mean for row in summary.itertuples() if row.mean == row.mean}
    for metric in dict.fromkeys(summary["metric"]):
        higher = higher_is_better(metric)
        for block in selection.blocks([*across, "data"]) if higher is not None else []:
            found = {group: means[group, metric] for group in block if (group, metric) in means}
            if len(found) > 1:
                extreme = (max if higher else min)(found.values())
                yield from ((group, metric) for group, mean in found.items() if mean == extreme)


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
    """Return a spec in its recorded form, or the text itself if it is no spec of this setting."""
    try:
        return REGISTRIES[setting].canonical(text) if setting in REGISTRIES else text
    except UsageError:
        return text


def baseline_groups(selection: Selection, setting: str, value: Any) -> Iterator[tuple[int, int]]:
    """Yield each other group with the group that has the baseline's value and otherwise the same settings."""
    for block in selection.blocks([name for name in selection.fields if name != setting]):
        base = [group for group in block if selection.groups.loc[group, setting] == value]
        yield from ((group, base[0]) for group in block if base and group != base[0])
