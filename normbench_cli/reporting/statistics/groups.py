"""All groups of a table: each against a baseline, and which of them are tied with the best."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from normbench_cli.reporting.statistics.multiple import holm
from normbench_cli.reporting.statistics.paired import LEVEL, NAN, Comparison, compare_paired, sign_flip_p_value

Seeds = Mapping[Hashable, float]  # a group's value for each seed; nan where the run diverged
CORRECTED = ("p_t", "p_permutation")
COLUMNS = (*Comparison.__dataclass_fields__, "diverged", "unpaired")


@dataclass(frozen=True)
class GroupComparisons:
    """table: one row per group other than the baseline, indexed by it, with

    - the columns of `Comparison`, of the group minus the baseline, over the seeds that both have;
    - diverged: seeds for which either has no finite value; unpaired: seeds that only one of them has;
    - p_t_holm, p_permutation_holm: corrected over the rows; significant: p_permutation_holm <= 0.05.

    best: the group with the best mean, None if no group has a value.  ties: the best group and those that the
    permutation test does not find different from it, with Holm's correction over all pairs of groups, because the best
    one is known only afterwards.  limits: the sentences of all rows, without duplicates.
    """

    table: pd.DataFrame
    best: Hashable | None
    ties: tuple[Hashable, ...]
    limits: tuple[str, ...]


def compare_groups(
    values: pd.DataFrame, baseline: Hashable | None = None, *, higher_is_better: bool = True, level: float = LEVEL
) -> GroupComparisons:
    """Compare groups by a metric.

    values: columns group, seed, value, one row per run.  seed: what runs are paired by, a seed or a tuple of it and
    settings.  A diverged run has the value nan.  Several values of one group and seed are averaged first, so that a
    seed counts once.  baseline: None for no table, only best and ties.
    """
    groups = by_seed(values)
    others = [name for name in groups if name != baseline] if baseline in groups else []
    rows = [compared(groups[name], groups[baseline], level, len(others)) for name in others]
    table = pd.DataFrame(rows, columns=list(COLUMNS), index=pd.Index(others, tupleize_cols=False, name="group"))
    for name in CORRECTED:
        table[f"{name}_holm"] = holm(table[name].tolist())
    table["significant"] = table["p_permutation_holm"] <= level
    best = best_group(groups, higher_is_better)
    ties = () if best is None else tuple(tied_with_best(groups, best, level))
    return GroupComparisons(table, best, ties, tuple(dict.fromkeys(text for row in rows for text in row["limits"])))


def by_seed(values: pd.DataFrame) -> dict[Hashable, dict[Hashable, float]]:
    """Each group's mean value for each seed, in the order of the rows."""
    found: dict[Hashable, dict[Hashable, list[float]]] = {}
    for group, seed, value in zip(values["group"], values["seed"], values["value"], strict=True):
        found.setdefault(group, {}).setdefault(seed, []).append(float(value))
    return {
        group: {seed: sum(several) / len(several) for seed, several in seeds.items()} for group, seeds in found.items()
    }


def paired(a: Seeds, b: Seeds) -> tuple[list[float], list[float]]:
    """The values of the seeds for which both have a finite one."""
    seeds = [seed for seed in a if seed in b and math.isfinite(a[seed]) and math.isfinite(b[seed])]
    return [a[seed] for seed in seeds], [b[seed] for seed in seeds]


def compared(a: Seeds, b: Seeds, level: float, comparisons: int) -> dict[str, Any]:
    """A row of the table."""
    unpaired = len(a.keys() ^ b.keys())
    values = paired(a, b)
    n = len(values[0])
    diverged = len(a.keys() & b.keys()) - n
    if n:
        found = asdict(compare_paired(*values, level=level, comparisons=comparisons))
    else:
        found = dict.fromkeys(COLUMNS, NAN) | {"n": 0, "seeds_needed": None, "limits": ()}
    found["limits"] = (*found["limits"], *limits_of_pairs(n, diverged, unpaired))
    return found | {"diverged": diverged, "unpaired": unpaired}


def limits_of_pairs(n: int, diverged: int, unpaired: int) -> Iterator[str]:
    if not n:
        yield "no seed has a value on both sides"
    if diverged:
        yield f"{count(diverged, 'pair')} with a diverged run left out: the comparison is of the others"
    if unpaired:
        yield f"{count(unpaired, 'seed')} measured on one side only, left out"


def count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def best_group(groups: Mapping[Hashable, Seeds], higher_is_better: bool) -> Hashable | None:
    """The group with the best mean over its finite values."""
    finite = {name: [value for value in seeds.values() if math.isfinite(value)] for name, seeds in groups.items()}
    means = {name: sum(values) / len(values) for name, values in finite.items() if values}
    if not means:
        return None
    return (max if higher_is_better else min)(means, key=means.__getitem__)


def tied_with_best(groups: Mapping[Hashable, Seeds], best: Hashable, level: float) -> Iterator[Hashable]:
    """The best group and those not significantly different from it."""
    pairs = [pair for pair in combinations(groups, 2) if paired(groups[pair[0]], groups[pair[1]])[0]]
    p_of = dict(zip(pairs, holm(pair_p_values(groups, pairs)), strict=True))
    for name in groups:
        p = p_of.get((name, best), p_of.get((best, name), NAN))
        if name == best or p > level:
            yield name


def pair_p_values(groups: Mapping[Hashable, Seeds], pairs: Sequence[tuple[Hashable, Hashable]]) -> list[float]:
    """The permutation test of each pair; pairs with equally many seeds are tested in one batch."""
    differences = [np.subtract(*paired(groups[a], groups[b])) for a, b in pairs]
    found = np.full(len(pairs), NAN)
    lengths = np.array([len(one) for one in differences])
    for n in set(lengths.tolist()):
        found[lengths == n] = sign_flip_p_value(np.stack([one for one in differences if len(one) == n]))
    return [float(p) for p in found]
