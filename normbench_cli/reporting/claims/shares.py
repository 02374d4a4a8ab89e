"""Tests of all runs: the share of values within bounds, curves that rise, one metric that grows with another."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy.stats import binomtest, spearmanr

from normbench_cli.reporting.claims.judgement import LEVEL, Estimate, Judgement, Verdict, undecided, within
from normbench_cli.reporting.claims.pairs import block_of
from normbench_cli.suites import Claim

MOST = 0.9  # share of changes that must rise, by default
FEWEST_GROUPS = 5  # with fewer, no rank correlation is significant


def share(frame: pd.DataFrame, claim: Claim) -> Judgement:
    """At least a share of the runs has a value from `least` to `most`; a diverged run does not."""
    values = frame["value"].to_numpy()
    if not len(values):
        return undecided("no run")
    with np.errstate(invalid="ignore"):
        inside = (values >= claim.bounds.get("least", -math.inf)) & (values <= claim.bounds.get("most", math.inf))
    return judged_share(int(inside.sum()), len(values), claim.bounds["share"], "runs")


def judged_share(hits: int, n: int, least: float, of: str) -> Judgement:
    """Compare Wilson's 95 % interval of a share with the claimed minimum."""
    found = binomtest(hits, n).proportion_ci(0.95, method="wilson")
    text = f"{hits} of {n} {of}, 95 % interval {found.low:.0%} to {found.high:.0%}, claimed at least {least:.0%}"
    estimate = Estimate(hits / n, found.low, found.high)
    return Judgement(within(found.low, found.high, least, math.inf), text, n, estimate)


def monotone(frame: pd.DataFrame, claim: Claim) -> Judgement:
    """The metric rises from epoch to epoch, in at least a share of all changes."""
    rises = changes = 0
    for _, curve in frame.sort_values("epoch").groupby("run_id"):
        steps = np.diff(curve["value"].to_numpy())
        rises, changes = rises + int((steps > 0).sum()), changes + len(steps)
    if not changes:
        return undecided("no run of several epochs")
    return judged_share(rises, changes, claim.bounds.get("share", MOST), "changes from epoch to epoch rise")


def association(frame: pd.DataFrame, claim: Claim) -> Judgement:
    """The metric grows with the other one over groups of runs that differ only in the seed: rank correlation."""
    keys = block_of(frame, (), without=("seed",))
    means = frame.pivot_table(index=keys, columns="metric", values="value", aggfunc="mean")
    if not {claim.metric, claim.other} <= set(means.columns):
        return undecided("no run has both metrics")
    means = means[[claim.metric, claim.other]].dropna()
    if len(means) < FEWEST_GROUPS or (means.nunique() == 1).any():
        return undecided("too few groups of runs that differ", len(means))
    found = spearmanr(means[claim.metric], means[claim.other])
    verdict: Verdict = "not enough evidence"
    if found.pvalue <= LEVEL:
        verdict = "holds" if found.statistic > 0 else "does not hold"
    text = f"Spearman's rank correlation {found.statistic:.2f} over groups, p={found.pvalue:.2g}"
    return Judgement(verdict, text, len(means))
