"""Tests of groups of runs, paired by seed and settings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from normbench_cli.reporting.claims.best import best_pairs
from normbench_cli.reporting.claims.judgement import LEVEL, Estimate, Judgement, Verdict, claimed, undecided, within
from normbench_cli.reporting.claims.pairs import block_of, pairs
from normbench_cli.reporting.statistics import Comparison, compare_paired, holm
from normbench_cli.suites import Claim

NO_PAIRS = "no pairs of runs"


def difference(frame: pd.DataFrame, claim: Claim) -> Judgement:
    """First minus second group, above `least` and below `most`."""
    return bounded(frame, claim, claim.bounds.get("least", -math.inf), claim.bounds.get("most", math.inf))


def equal(frame: pd.DataFrame, claim: Claim) -> Judgement:
    """The groups differ by less than `margin`: an equivalence test."""
    margin = claim.bounds["margin"]
    return bounded(frame, claim, -margin, margin)


def bounded(frame: pd.DataFrame, claim: Claim, least: float, most: float) -> Judgement:
    found, chosen = pairs_of(frame, claim)
    if found.empty:
        return undecided(NO_PAIRS)
    compared = compare_paired(found["a"].tolist(), found["b"].tolist())
    verdict = within(compared.low, compared.high, least, most)
    text = f"{described(compared)}; {claimed(least, most)}{chosen}"
    estimate = Estimate(compared.difference, compared.low, compared.high)
    return Judgement(supported(verdict, [compared]), text, compared.n, estimate)


def ratio(frame: pd.DataFrame, claim: Claim) -> Judgement:
    """First over second group, above `least` and below `most`; the interval is computed on the logarithm."""
    found, chosen = pairs_of(frame, claim)
    found = found[(found["a"] > 0) & (found["b"] > 0)]
    if found.empty:
        return undecided(NO_PAIRS)
    compared = compare_paired(np.log(found["a"]).tolist(), np.log(found["b"]).tolist())
    estimate = Estimate(*(math.exp(number) for number in (compared.difference, compared.low, compared.high)))
    least, most = claim.bounds.get("least", -math.inf), claim.bounds.get("most", math.inf)
    verdict = within(estimate.low, estimate.high, least, most)
    shown = " (one pair)" if compared.n == 1 else f", 95 % interval {interval(estimate.low, estimate.high)}"
    text = f"ratio {estimate.value:.4g}{shown}; {claimed(least, most)}{chosen}"
    return Judgement(supported(verdict, [compared]), text, compared.n, estimate)


def pairs_of(frame: pd.DataFrame, claim: Claim) -> tuple[pd.DataFrame, str]:
    """The pairs of two groups, at equal settings or each at its best, and the selection as text."""
    if not claim.best_by:
        return pairs(frame, *claim.groups), ""
    found, chosen = best_pairs(frame, claim)
    return found, f" ({chosen})"


def everywhere(frame: pd.DataFrame, claim: Claim) -> Judgement:
    """The first group is above the second for all other settings, each compared separately."""
    found = pairs(frame, *claim.groups)
    keys = block_of(frame, claim.groups, without=("seed",))
    parts = [part for _, part in found.groupby(keys)] if keys else [found] * (not found.empty)
    return all_above(compare_paired(part["a"].tolist(), part["b"].tolist()) for part in parts)


def highest(frame: pd.DataFrame, claim: Claim) -> Judgement:
    """The first group is above each of the others."""
    return all_above(compared(frame, [(claim.groups[0], other) for other in claim.groups[1:]]))


def lowest(frame: pd.DataFrame, claim: Claim) -> Judgement:
    """The first group is below each of the others."""
    return all_above(compared(frame, [(other, claim.groups[0]) for other in claim.groups[1:]]))


def order(frame: pd.DataFrame, claim: Claim) -> Judgement:
    """Every group is above the one before it."""
    return all_above(compared(frame, [(higher, lower) for lower, higher in pairwise(claim.groups)]))


def compared(frame: pd.DataFrame, groups: Iterable[Sequence[object]]) -> list[Comparison]:
    joined = [pairs(frame, *pair) for pair in groups]  # type: ignore[arg-type]
    if any(found.empty for found in joined):
        return []
    return [compare_paired(found["a"].tolist(), found["b"].tolist()) for found in joined]


def all_above(comparisons: Iterable[Comparison]) -> Judgement:
    """Holds if every difference is above zero.  A single one below zero refutes that, so those p-values are corrected
    (Holm)."""
    found = list(comparisons)
    if not found:
        return undecided(NO_PAIRS)
    below = [one.p_t if one.difference < 0 and not math.isnan(one.p_t) else 1.0 for one in found]
    verdict: Verdict = "not enough evidence"
    if all(one.low > 0 for one in found):
        verdict = "holds"
    elif min(holm(below)) <= LEVEL:
        verdict = "does not hold"
    closest = min(found, key=lambda one: one.difference)
    many = f"{len(found)} comparisons, the lowest: " if len(found) > 1 else ""
    return Judgement(supported(verdict, found), many + described(closest), min(one.n for one in found))


def supported(verdict: Verdict, comparisons: Iterable[Comparison]) -> Verdict:
    """No verdict where the pairs are too few for the permutation test ever to be significant."""
    return "not enough evidence" if any(one.smallest_p > LEVEL for one in comparisons) else verdict


def described(one: Comparison) -> str:
    if one.n == 1:
        return f"difference {one.difference:+.4g} (one pair)"
    return (
        f"difference {one.difference:+.4g}, 95 % interval {interval(one.low, one.high)}, paired t p={one.p_t:.2g}, "
        f"permutation p={one.p_permutation:.2g} (smallest possible {one.smallest_p:.2g})"
    )


def interval(low: float, high: float) -> str:
    return f"{low:.4g} to {high:.4g}"
