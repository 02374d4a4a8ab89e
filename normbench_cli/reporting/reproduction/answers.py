"""The answer to a suite's question: which row is best, which are tied with it, and which are significantly worse.

Rows are compared in every column of the question and in the mean over these columns, paired by seed, or in a
cross-validation by seed and fold.  Seeds are compared by the sign-flip permutation test, folds by the corrected t-test
(`statistics.folds`); both use Holm's correction over all pairs of rows, because the best row is known only afterwards.
With too few pairs to reach significance there is no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean

import numpy as np
import pandas as pd

from normbench_cli.reporting.reproduction.scores import Part, Scores, Units, of_columns, of_ranges
from normbench_cli.reporting.statistics import LEVEL, Summary, compare_groups, holm, seeds_for_level, summarize
from normbench_cli.reporting.statistics.folds import corrected_t_p_value
from normbench_cli.reporting.statistics.groups import best_group, paired
from normbench_cli.suites import Suite

EVERYWHERE = "mean over all of these"
Rows = Mapping[Hashable, Units]


@dataclass(frozen=True)
class Answer:
    """best: the row with the best mean; empty if nothing is measured.  ties: the rows not significantly worse; worse:
    the others.  n: the number of the best row's values, over seeds or folds; needed: the fewest pairs that can be
    significant.  unit: of the values, % or decades."""

    where: str
    best: str = ""
    summary: Summary | None = None
    ties: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()
    n: int = 0
    needed: int = 0
    comparisons: int = 0
    unit: str = ""
    of: str = "seeds"

    @property
    def is_decidable(self) -> bool:
        return self.n >= self.needed > 0

    @property
    def counted(self) -> str:
        """10 folds"""
        return f"{self.n} {self.of.removesuffix('s') if self.n == 1 else self.of}"


def answers_of(suite: Suite, scores: list[Scores]) -> list[Answer]:
    """The answer in each column (for ranges: in each panel), and over all of them if there are several."""
    assert suite.question is not None
    parts = of_ranges(scores) if suite.question.best == "range" else of_columns(scores)
    found = [answer(where, part) for where, part in parts.items()] or [Answer(EVERYWHERE)]
    if len(parts) > 1:
        overall = means([part.by_seed() for part in parts.values()])
        found.append(answer(EVERYWHERE, replace(next(iter(parts.values())), rows=overall, folds=0)))
    return found


def answer(where: str, part: Part) -> Answer:
    """Compare the rows of a part."""
    groups: dict[Hashable, Units] = {row: units for row, units in part.rows.items() if finite(units)}
    best = best_group(groups, part.higher)
    if best is None:
        return Answer(where)
    comparisons = math.comb(len(groups), 2)
    others = [str(row) for row in groups if row != best]
    needed = seeds_for_level(LEVEL if part.folds else LEVEL / max(1, comparisons))
    few = {row for row in groups if len(paired(groups[row], groups[best])[0]) < needed}
    tied = few | (tied_with(groups, best, part) if len(few) < len(groups) else set())
    return Answer(
        where=where,
        best=str(best),
        summary=summarize(finite(groups[best])),
        ties=tuple(row for row in others if row in tied),
        worse=tuple(row for row in others if row not in tied),
        n=len(finite(groups[best])),
        needed=needed,
        comparisons=comparisons,
        unit=part.unit,
        of="folds" if part.folds else "seeds",
    )


def finite(units: Units) -> list[float]:
    """The values without those of diverged runs."""
    return [value for value in units.values() if math.isfinite(value)]


def tied_with(groups: Rows, best: Hashable, part: Part) -> set[Hashable]:
    """The best row and those not significantly different from it."""
    return tied_folds(groups, best, part.folds) if part.folds else tied_seeds(groups, part.higher)


def tied_seeds(groups: Rows, higher: bool) -> set[Hashable]:
    rows = [(row, seed, value) for row, units in groups.items() for seed, value in units.items()]
    frame = pd.DataFrame(rows, columns=["group", "seed", "value"])
    return set(compare_groups(frame, higher_is_better=higher).ties)


def tied_folds(groups: Rows, best: Hashable, folds: int) -> set[Hashable]:
    pairs = list(combinations(groups, 2))
    differences = [np.subtract(*paired(groups[a], groups[b])).tolist() for a, b in pairs]
    found = holm([corrected_t_p_value(values, folds) for values in differences])
    others = {b if a == best else a: p for (a, b), p in zip(pairs, found, strict=True) if best in (a, b)}
    return {best, *(row for row, p in others.items() if not p <= LEVEL)}


def means(parts: Sequence[Rows]) -> dict[Hashable, Units]:
    """The mean over all parts for each row and seed, where every part has a value."""
    rows = dict.fromkeys(row for part in parts for row in part)
    return {row: mean_of([part.get(row, {}) for part in parts]) for row in rows}


def mean_of(columns: Sequence[Units]) -> Units:
    seeds = [seed for seed in columns[0] if all(seed in units for units in columns)]
    return {seed: fmean(units[seed] for units in columns) for seed in seeds}


def sentence(found: Answer, shown: str) -> str:
    """Return the verdict.  shown: mean ± sd of the best."""
    if not found.best:
        return "Undecided: nothing is measured yet."
    if not found.is_decidable:
        return (
            f"Undecided: with {found.comparisons} comparison{'s' * (found.comparisons != 1)} it takes at least "
            f"{found.needed} {found.of}, "
            f"and there {'is' if found.n == 1 else 'are'} {found.n}. {found.best} has the best mean, {shown}."
        )
    tests = f"n={found.counted}, Holm over {found.comparisons} comparisons"
    if not found.worse:
        return f"Undecided: {found.best} has the best mean, {shown}, but none is significantly worse ({tests})."
    if not found.ties:
        return f"{found.best} is best, {shown}: all others are significantly worse ({tests})."
    return (
        f"{found.best} has the best mean, {shown}; not distinguishable from it: {', '.join(found.ties)}; "
        f"significantly worse: {', '.join(found.worse)} ({tests})."
    )
