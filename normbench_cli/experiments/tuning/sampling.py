"""Which values are tried and which trials are pruned: Optuna's samplers and pruners.  Loads Optuna.

Every contender has its own study.  With quasi-random sampling, all contenders get the same points: a scrambled Sobol
sequence, drawn once, over the union of their search spaces; each uses the coordinates that it has.  TPE begins with the
same ten random points and then follows each contender's own scores.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import optuna
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.trial import FrozenTrial, TrialState

from normbench_cli.experiments.tuning.request import Pruner, Sampler
from normbench_cli.experiments.tuning.space import Range, Space

optuna.logging.set_verbosity(optuna.logging.ERROR)
SEED = 0  # of the samplers
BLOCK = 32  # points that are drawn at a time
NEAR = 0.01  # a trial that is worse than the better half by at most this goes on, too
STARTUP = 4  # number of first trials of a contender that the median rule does not prune


@dataclass(frozen=True)
class Proposal:
    """A trial to run: its number within its contender, and the values to try."""

    number: int
    values: Mapping[str, float]
    handle: optuna.trial.Trial
    reported: set[int] = field(default_factory=set)

    def should_stop(self, epoch: int, score: float) -> bool:
        """Report the score of an epoch; return whether to prune the trial."""
        if epoch in self.reported:
            return False
        self.reported.add(epoch)
        self.handle.report(score, epoch)
        return self.handle.should_prune()


class Study:
    """The Optuna study of one contender."""

    def __init__(
        self, space: Space, sampler: Sampler, pruner: Pruner, epochs: int, shared: Space | None = None
    ) -> None:
        """space: searched for this contender.  shared: for all, so that they try the same values where they can."""
        self._space, self._shared, self._sampler, self._number = space, shared or space, sampler, 0
        self._study = optuna.create_study(
            direction="maximize", sampler=optuna.samplers.TPESampler(seed=SEED), pruner=make_pruner(pruner, epochs)
        )

    def ask(self) -> Proposal:
        """Propose the next trial."""
        if self._sampler == "quasi-random":
            point = quasi_random_point(tuple(self._shared.items()), self._number)
            self._study.enqueue_trial({name: point[name] for name in self._space})
        handle = self._study.ask(dict(distributions(self._space)))
        values = {name: found.rounded(handle.params[name]) for name, found in self._space.items()}
        self._number += 1
        return Proposal(self._number - 1, values, handle)

    def tell(self, proposal: Proposal, score: float | None, *, stopped: bool) -> None:
        """Report how a trial ended.  score: None if it failed."""
        if score is None:
            self._study.tell(proposal.handle, state=TrialState.FAIL)
        elif stopped:
            self._study.tell(proposal.handle, state=TrialState.PRUNED)
        else:
            self._study.tell(proposal.handle, score)


def distributions(space: Space) -> Mapping[str, BaseDistribution]:
    return {name: FloatDistribution(found.low, found.high, log=found.log) for name, found in space.items()}


class BetterHalf(optuna.pruners.BasePruner):
    """Asynchronous successive halving with one rung: of the trials that reached it, the better half goes on, and those
    within one percentage point of it, because such differences are noise."""

    def __init__(self, rung: int) -> None:
        self.rung = rung

    def prune(self, study: optuna.Study, trial: FrozenTrial) -> bool:
        if trial.last_step != self.rung:
            return False
        curves = [one.intermediate_values for one in study.get_trials(deepcopy=False)]
        reached = sorted(curve[self.rung] for curve in curves if self.rung in curve)
        return trial.intermediate_values[self.rung] < reached[len(reached) // 2] - NEAR


def make_pruner(name: Pruner, epochs: int) -> optuna.pruners.BasePruner:
    """epochs: of a whole trial.

    asha: see `BetterHalf`; its rung is in the middle of a trial.
    median: a trial is pruned when its best score so far is below the median of the earlier trials at that epoch; never
    in its first half.  Earlier rungs would save more, but in simulations they prune the would-be winner in one of three
    searches (docs/tune.md).
    """
    middle = -(-epochs // 2)
    if name == "median":
        return optuna.pruners.MedianPruner(n_startup_trials=STARTUP, n_warmup_steps=middle)
    if name == "asha":
        return BetterHalf(middle)
    return optuna.pruners.NopPruner()


def quasi_random_point(space: tuple[tuple[str, Range], ...], number: int) -> Mapping[str, float]:
    """The point with this number in the Sobol sequence that all contenders share."""
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
    # Optuna draws the first trial of a study at random and infers the space from it; this trial replaces it
    study.add_trial(optuna.create_trial(params=middle, distributions=searched, value=0.0))
    return [study.ask(searched).params for _ in range(count)]
