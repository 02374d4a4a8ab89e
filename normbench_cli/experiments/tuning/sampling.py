"""Which values are tried and which trials are stopped early: Optuna's samplers and pruners.  Loads Optuna.

Every contender has a study of its own.  With quasi-random sampling all contenders get the same points: a scrambled
Sobol sequence, drawn once.  TPE begins with the same ten random points and then follows each contender's own scores.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import optuna
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.trial import TrialState

from normbench_cli.experiments.tuning.request import Pruner, Sampler
from normbench_cli.experiments.tuning.space import Range, Space

optuna.logging.set_verbosity(optuna.logging.ERROR)
SEED = 0  # of the samplers
BLOCK = 32  # points that are drawn at a time
REDUCTION = 2  # ASHA: one of so many trials goes on from the rung
STARTUP = 4  # the first trials of a contender, which the median rule does not stop


@dataclass(frozen=True)
class Proposal:
    """A trial that is to be made: its number within its contender, and the values to try."""

    number: int
    values: Mapping[str, float]
    handle: optuna.trial.Trial
    reported: set[int] = field(default_factory=set)

    def should_stop(self, epoch: int, score: float) -> bool:
        """Report the score of an epoch; whether the trial is not worth going on."""
        if epoch in self.reported:
            return False
        self.reported.add(epoch)
        self.handle.report(score, epoch)
        return self.handle.should_prune()


class Study:
    """What one contender has tried so far."""

    def __init__(self, space: Space, sampler: Sampler, pruner: Pruner, epochs: int) -> None:
        self._space, self._sampler, self._number = space, sampler, 0
        self._study = optuna.create_study(
            direction="maximize", sampler=optuna.samplers.TPESampler(seed=SEED), pruner=make_pruner(pruner, epochs)
        )

    def ask(self) -> Proposal:
        """The next trial."""
        if self._sampler == "quasi-random":
            self._study.enqueue_trial(dict(quasi_random_point(tuple(self._space.items()), self._number)))
        handle = self._study.ask(dict(distributions(self._space)))
        values = {name: found.rounded(name, handle.params[name]) for name, found in self._space.items()}
        self._number += 1
        return Proposal(self._number - 1, values, handle)

    def tell(self, proposal: Proposal, score: float | None, *, stopped: bool) -> None:
        """How a trial ended.  score: None for one that failed."""
        if score is None:
            self._study.tell(proposal.handle, state=TrialState.FAIL)
        elif stopped:
            self._study.tell(proposal.handle, state=TrialState.PRUNED)
        else:
            self._study.tell(proposal.handle, score)


def distributions(space: Space) -> Mapping[str, BaseDistribution]:
    return {name: FloatDistribution(found.low, found.high, log=found.log) for name, found in space.items()}


def make_pruner(name: Pruner, epochs: int) -> optuna.pruners.BasePruner:
    """epochs: of a whole trial.

    asha: asynchronous successive halving with one rung, in the middle of a trial, from which the better half goes on.
    median: a trial is stopped when its best score so far is below the median of the earlier trials at that epoch; never
    in its first half.  Earlier rungs would save more; in simulations they stop the trial that would have won in every
    third search (docs/tune.md).
    """
    middle = max(1, epochs // 2)
    if name == "median":
        return optuna.pruners.MedianPruner(n_startup_trials=STARTUP, n_warmup_steps=middle)
    if name == "asha":
        return optuna.pruners.SuccessiveHalvingPruner(min_resource=middle, reduction_factor=REDUCTION)
    return optuna.pruners.NopPruner()


def quasi_random_point(space: tuple[tuple[str, Range], ...], number: int) -> Mapping[str, float]:
    """The point with this number of the Sobol sequence that all contenders share."""
    return quasi_random_points(space, BLOCK * (number // BLOCK + 1))[number]


@lru_cache(maxsize=64)
def quasi_random_points(space: tuple[tuple[str, Range], ...], count: int) -> Sequence[Mapping[str, float]]:
    """The first points of a scrambled Sobol sequence; a longer one begins with the same points."""
    searched = dict(distributions(dict(space)))
    middle = {name: found.low for name, found in space}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.QMCSampler(scramble=True, seed=SEED, warn_independent_sampling=False)
    study = optuna.create_study(sampler=sampler)
    # Optuna draws the first trial of a study at random and takes the space from it: this one stands in for that
    study.add_trial(optuna.create_trial(params=middle, distributions=searched, value=0.0))
    return [study.ask(searched).params for _ in range(count)]
