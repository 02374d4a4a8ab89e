"""Statistics of repeated runs: what a few seeds can and cannot show.

============== =================================================================================================
`summary`      mean, sd (ddof=1), n and the 95 % interval of the mean by Student's t
`aggregate`    the interquartile mean over data sets and seeds, with a stratified bootstrap interval
`paired`       two groups compared seed by seed: interval, paired t, exact sign-flip permutation, effect size
`power`        how many seeds would show the difference seen
`multiple`     Holm's correction of a table of p-values
`groups`       all groups of a table against a baseline, and which are tied with the best
`budgets`      the best score that a smaller search is expected to find, with a bootstrap interval
`search_noise` the variance that choosing a setting by noisy validation scores adds to the final runs
`tuned`        contenders of a tuning: the best on fresh seeds, and the width of a setting's good range
`survival`     times until a score is reached, censored where it was not: Kaplan and Meier, the log-rank test
`datasets`     wins and losses over data sets: the sign test; Friedman's test with Nemenyi's critical difference
============== =================================================================================================

**When a difference is called significant**: when the p-value of the sign-flip permutation test, Holm-corrected over the
table, is at most 0.05.  That test assumes no normal distribution, only that the sign of a difference is a coin toss if
the groups are equal.  With n pairs it cannot go below 2^(1-n), so no difference is significant with fewer than six
seeds, however large it looks, and `Comparison.limits` says so.  The paired t-test is shown beside it; it can go lower
with few seeds because it assumes normality, which few seeds cannot confirm.

A diverged run has no value to average: it is counted separately, and the comparison covers only the other runs.

`summarize` loads nothing; the others load scipy.stats and statsmodels on first use, which takes seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from normbench_cli.reporting.statistics.summary import Summary, summarize

if TYPE_CHECKING:
    from normbench_cli.reporting.statistics.aggregate import bootstrap_interval, interquartile_mean
    from normbench_cli.reporting.statistics.budgets import expected_best, expected_best_interval
    from normbench_cli.reporting.statistics.datasets import (
        Friedman,
        SignTest,
        friedman,
        nemenyi_critical_difference,
        sign_test,
    )
    from normbench_cli.reporting.statistics.groups import GroupComparisons, by_seed, compare_groups, compared
    from normbench_cli.reporting.statistics.multiple import holm
    from normbench_cli.reporting.statistics.paired import (
        LEVEL,
        Comparison,
        compare_paired,
        sign_flip_p_value,
        t_test_p_value,
    )
    from normbench_cli.reporting.statistics.power import seeds_for_level, seeds_needed, smallest_p_value
    from normbench_cli.reporting.statistics.search_noise import search_variance
    from normbench_cli.reporting.statistics.survival import (
        Time,
        TimeComparison,
        compare_times,
        kaplan_meier,
        log_rank,
        median_time,
    )
    from normbench_cli.reporting.statistics.tuned import Ranking, RobustRange, rank_contenders, robust_range

__all__ = [
    "LEVEL",
    "Comparison",
    "Friedman",
    "GroupComparisons",
    "Ranking",
    "RobustRange",
    "SignTest",
    "Summary",
    "Time",
    "TimeComparison",
    "bootstrap_interval",
    "by_seed",
    "compare_groups",
    "compare_paired",
    "compare_times",
    "compared",
    "expected_best",
    "expected_best_interval",
    "friedman",
    "holm",
    "interquartile_mean",
    "kaplan_meier",
    "log_rank",
    "median_time",
    "nemenyi_critical_difference",
    "rank_contenders",
    "robust_range",
    "search_variance",
    "seeds_for_level",
    "seeds_needed",
    "sign_flip_p_value",
    "sign_test",
    "smallest_p_value",
    "summarize",
    "t_test_p_value",
]


def __getattr__(name: str) -> object:
    """Import everything but `summarize` on first use, because it loads scipy.stats."""
    if name in __all__:
        from normbench_cli.reporting.statistics import (
            aggregate,
            budgets,
            datasets,
            groups,
            multiple,
            paired,
            power,
            search_noise,
            survival,
            tuned,
        )

        modules = (aggregate, budgets, datasets, groups, multiple, paired, power, search_noise, survival, tuned)
        return next(getattr(module, name) for module in modules if hasattr(module, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
