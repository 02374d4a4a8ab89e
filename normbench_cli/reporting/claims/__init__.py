"""The papers' claims against recorded runs: holds, does not hold, or not enough evidence.

    frame.py      the runs of suites as a long frame: settings, seed, metric, value
    pairs.py      the values of two groups, paired by everything that the groups do not set
    best.py       the same pairs with each group at its best settings
    judgement.py  Judgement, and the verdict from an interval and bounds
    groups.py     tests of groups: difference, equal, ratio, everywhere, highest, lowest, order
    shares.py     tests of all runs: share, monotone, association
    judge.py      a claim and a frame -> a Judgement

A claim is decided by the 95 % interval of its quantity: it holds if the whole interval is inside the claim's bounds,
and does not if the whole interval is outside.  Otherwise there is not enough evidence; likewise with a single seed, or
with too few pairs for the sign-flip permutation test to reach significance.
"""

from normbench_cli.reporting.claims.judge import judge
from normbench_cli.reporting.claims.judgement import Judgement

__all__ = ["Judgement", "judge"]
