"""The numbers of a tuning for each contender: chosen settings, test score, robust range, expected best by budget."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from normbench_cli.reporting.statistics import (
    Ranking,
    RobustRange,
    Summary,
    expected_best,
    expected_best_interval,
    rank_contenders,
    robust_range,
    search_variance,
    summarize,
)
from normbench_cli.reporting.tuning.read import Contender, Tuning

NAN = float("nan")


@dataclass(frozen=True)
class Budgeted:
    """The expected best score of a number of trials, with the ends of its 95 % bootstrap interval."""

    trials: int
    best: float
    low: float
    high: float


@dataclass(frozen=True)
class Finding:
    """test: the summary of the final runs; None without any.  search_sd: the sd that the search adds to their mean.
    robust: the range of `Findings.setting`."""

    contender: Contender
    test: Summary | None
    search_sd: float
    robust: RobustRange
    expected: Sequence[Budgeted]
    diverged: int
    stopped: int
    seconds: float
    finals_diverged: int

    @property
    def name(self) -> str:
        return self.contender.name


@dataclass(frozen=True)
class Findings:
    """setting: the one whose robust range and sensitivity are shown: lr if it was searched, otherwise the first."""

    tuning: Tuning
    setting: str
    rows: Sequence[Finding]
    ranking: Ranking

    def verdict(self, name: str) -> str:
        """Best, tie with it, or worse."""
        if self.ranking.best is None or name not in (self.ranking.best, *self.ranking.p):
            return "-"
        if name == self.ranking.best:
            return "best"
        return "tie" if self.ranking.is_tie(name) else "worse"


def find(tuning: Tuning) -> Findings:
    setting = "lr" if "lr" in tuning.space else next(iter(tuning.space))
    finals: dict[Hashable, dict[Hashable, float]] = {
        one.name: {final.seed: final.value for final in one.finals} for one in tuning.contenders
    }
    rows = [finding_of(one, setting, tuning.space) for one in tuning.contenders]
    variances: dict[Hashable, float] = {row.name: row.search_sd**2 for row in rows}
    return Findings(tuning, setting, rows, rank_contenders(finals, variances))


def finding_of(contender: Contender, setting: str, space: Mapping[str, tuple[float, float, bool]]) -> Finding:
    finished = [trial for trial in contender.trials if trial.status == "finished"]
    values = [final.value for final in contender.finals if math.isfinite(final.value)]
    test = summarize(values) if values else None
    variance = search_variance([trial.score for trial in finished], contender.examples, test.sd if test else NAN)
    return Finding(
        contender=contender,
        test=test,
        search_sd=math.sqrt(variance),
        robust=robust_range(
            [trial.values[setting] for trial in finished], [trial.score for trial in finished], log=space[setting][2]
        ),
        expected=budgeted([trial.score for trial in contender.trials if math.isfinite(trial.score)]),
        diverged=sum(trial.status == "diverged" for trial in contender.trials),
        stopped=sum(trial.status == "stopped" for trial in contender.trials),
        seconds=sum(trial.seconds for trial in contender.trials),
        finals_diverged=sum(final.status == "diverged" for final in contender.finals),
    )


def budgeted(scores: Sequence[float]) -> list[Budgeted]:
    """A diverged trial counts with its score of 0, a stopped one with its last score."""
    if not scores:
        return []
    low, high = expected_best_interval(scores)
    columns = zip(expected_best(scores), low, high, strict=True)
    return [Budgeted(n, float(best), float(a), float(b)) for n, (best, a, b) in enumerate(columns, start=1)]
