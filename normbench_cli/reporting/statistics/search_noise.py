"""The variance that a search adds to the final runs' mean.

A search chooses the trial with the best validation score.  With other validation examples and another seed it might
choose another trial, with another accuracy.  Over repeated tunings, the mean of n final runs has the variance

    Var(true accuracy of the chosen trial) + sd over seeds^2 / n

Final runs show the second term; the first, the search variance, is estimated here.  True accuracies are unknown, and
the scores cannot replace them: they spread wider, and the best of them is too good.  So the trials are modeled as a
sample of a normal population, whose mean and sd are inferred from the scores (a hierarchical model, as for Rubin's
eight schools):

    score_k ~ N(accuracy_k, noise_k^2),   accuracy_k ~ N(mean, spread^2),   mean, spread: uniform

Rubin, Estimation in Parallel Randomized Experiments, Journal of Educational Statistics 1981; Gelman et al., Bayesian
Data Analysis, 3rd edition 2013, section 5.4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
REACH = 6.0  # sd of noise: a trial this far below the best could not have won
STEPS = 60  # grid points for the population's sd
DRAWS = 2000


def search_variance(scores: Sequence[float], examples: int, sd: float) -> float:
    """The variance of the chosen trial's true accuracy over redrawn validation scores.

    With one vector of accuracies, two searches choose a and b: the variance is half the mean of (a - b)^2, over redrawn
    scores and over the posterior of the accuracies.

    scores: of the finished trials.  examples: of the validation set.  sd: of a run over seeds; nan if unknown.
    """
    given = np.asarray(scores, dtype=float)
    if len(given) < 2 or examples < 1:
        return 0.0
    noise = noise_of(given, examples, sd)
    rivals = given >= given.max() - REACH * noise[given.argmax()]
    given, noise, rng = given[rivals], noise[rivals], np.random.default_rng(0)
    accuracies = plausible_accuracies(given, noise, DRAWS, rng)
    a, b = chosen(accuracies, noise, rng), chosen(accuracies, noise, rng)
    return float(np.square(a - b).mean() / 2)


def noise_of(scores: Array, examples: int, sd: float) -> Array:
    """The sd of each score: a fraction p of the examples has the variance p (1 - p) / examples, a run over seeds sd^2.

    Two right and two wrong examples are added, as a perfect score would otherwise have no noise (Agresti and Coull
    1998).
    """
    share = (scores * examples + 2) / (examples + 4)
    noise: Array = np.sqrt(share * (1 - share) / (examples + 4) + (sd**2 if math.isfinite(sd) else 0.0))
    return noise


def plausible_accuracies(scores: Array, noise: Array, draws: int, rng: np.random.Generator) -> Array:
    """(draw, trial): true accuracies drawn from their posterior distribution."""
    spread = (np.arange(STEPS) + 0.5) / STEPS * REACH * noise.max()
    precision = 1 / (noise**2 + spread[:, None] ** 2)
    mean = (precision * scores).sum(axis=1) / precision.sum(axis=1)
    misfit = (precision * (scores - mean[:, None]) ** 2).sum(axis=1)
    likelihood = (np.log(precision).sum(axis=1) - np.log(precision.sum(axis=1)) - misfit) / 2
    weight = np.exp(likelihood - likelihood.max())
    at = rng.choice(STEPS, draws, p=weight / weight.sum())
    center = mean[at] + rng.normal(0, precision[at].sum(axis=1) ** -0.5)
    kept = spread[at, None] ** 2 * precision[at]  # share of a score's distance from the population's mean
    drawn: Array = rng.normal(center[:, None] + kept * (scores - center[:, None]), np.sqrt(kept) * noise)
    return drawn


def chosen(accuracies: Array, noise: Array, rng: np.random.Generator) -> Array:
    """The true accuracy of the trial chosen in each draw."""
    best = rng.normal(accuracies, noise).argmax(axis=1)
    found: Array = accuracies[np.arange(len(accuracies)), best]
    return found
