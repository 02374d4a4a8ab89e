"""Tuning of objectives that cost nothing: a score that depends on the searched settings, and noise."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from normbench_cli.experiments.tuning.contest import Contender, Outcome, run_round_robin
from normbench_cli.experiments.tuning.request import Budget, Pruner, Sampler
from normbench_cli.experiments.tuning.sampling import Proposal, Study
from normbench_cli.experiments.tuning.space import parse_space
from normbench_cli.reporting.statistics.search_noise import search_variance
from normbench_cli.reporting.statistics.tuned import Ranking, rank_contenders

SPACE = parse_space([])
BEST = {"lr": 0.1, "weight_decay": 5e-4, "init_gain": 1.0}  # the best setting of every objective here
LOST = {"lr": 0.06, "weight_decay": 0.005, "init_gain": 0.02}  # accuracy lost a decade away from it, squared
EPOCHS = 30


@dataclass(frozen=True)
class Objective:
    """The accuracy of a network: its peak, less what its settings cost.

    sd: of an accuracy over seeds.  examples: of the validation set, which add p (1 - p) / examples to its variance.
    """

    peak: float = 0.9
    sd: float = 0.005
    examples: int = 900

    def mean(self, values: Mapping[str, float]) -> float:
        lost = (LOST[name] * math.log10(values[name] / best) ** 2 for name, best in BEST.items())
        return self.peak - sum(lost)


def curve(final: float, rng: np.random.Generator, *, slowness: float, wobble: float) -> Sequence[float]:
    """The score of each epoch: what is missing of the last one shrinks in proportion to the epochs that are left.

    slowness: sd over trials of what is missing at the beginning, about 0.3.  wobble: sd of a single epoch.
    """
    missing = rng.normal(0.3, slowness)
    left = [1 - epoch / EPOCHS for epoch in range(1, EPOCHS)]
    return [final - missing * share + rng.normal(0, wobble) for share in left] + [final]


def followed(scores: Sequence[float], proposal: Proposal) -> Outcome:
    """The outcome of a trial with this curve."""
    for epoch, score in enumerate(scores[:-1], start=1):
        if proposal.should_stop(epoch, score):
            return Outcome("stopped", score)
    return Outcome("finished", scores[-1])


def replayed(curves: Sequence[Sequence[float]], pruner: Pruner) -> Contender:
    """A contender whose trials have these curves, one after the other."""
    contender = Contender(Study(SPACE, "quasi-random", pruner, len(curves[0])))
    for _ in run_round_robin(
        [contender], Budget(trials=len(curves)), lambda _, trial: followed(curves[trial.number], trial)
    ):
        pass
    return contender


def search(
    objectives: Sequence[Objective],
    rng: np.random.Generator,
    *,
    trials: int = 12,
    sampler: Sampler = "quasi-random",
    pruner: Pruner = "none",
    slowness: float = 0.05,
    wobble: float = 0.01,
) -> tuple[list[Contender], list[list[float]]]:
    """The contenders after their trials, and the scores that all trials have in full, stopped or not.

    slowness, wobble: of the curves, see `curve`.
    """
    contenders = [Contender(Study(SPACE, sampler, pruner, EPOCHS)) for _ in objectives]
    whole: list[list[float]] = [[] for _ in objectives]

    def make_trial(index: int, proposal: Proposal) -> Outcome:
        objective = objectives[index]
        mean = objective.mean(proposal.values)
        final = mean + rng.normal(0, math.hypot(objective.sd, math.sqrt(mean * (1 - mean) / objective.examples)))
        whole[index].append(final)
        if pruner == "none":
            return Outcome("finished", final)
        return followed(curve(final, rng, slowness=slowness, wobble=wobble), proposal)

    for _ in run_round_robin(contenders, Budget(trials=trials), make_trial):
        pass
    return contenders, whole


def tuned(
    objectives: Sequence[Objective], rng: np.random.Generator, seeds: int = 5, sampler: Sampler = "quasi-random"
) -> Ranking:
    """The ranking of contenders after their trials and final runs; they are called 0, 1, ..."""
    contenders, _ = search(objectives, rng, sampler=sampler)
    finals: dict[Hashable, dict[Hashable, float]] = {}
    variances: dict[Hashable, float] = {}
    for index, (objective, contender) in enumerate(zip(objectives, contenders, strict=True)):
        assert contender.chosen is not None
        mean = objective.mean(contender.chosen.values)
        finals[index] = {seed: mean + rng.normal(0, objective.sd) for seed in range(seeds)}
        scores = [trial.outcome.score for trial in contender.trials]
        variances[index] = search_variance(
            scores, objective.examples, float(np.std(list(finals[index].values()), ddof=1))
        )
    return rank_contenders(finals, variances)
