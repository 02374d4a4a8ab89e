"""Simulated tunings of two contenders: validation scores, what they choose, final runs, and what the test finds.

Both contenders have the same landscape: true accuracies of a Sobol sequence's points in three settings, whose distances
from the best values are a, b and c decades.  One may be better by a constant.  The table in docs/tune.md:

    python -m tests.reporting.statistics.tunings
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit
from scipy.stats import nct, qmc

from normbench_cli.reporting.statistics.search_noise import search_variance
from normbench_cli.reporting.statistics.tuned import p_value_with_search, satterthwaite

Array = NDArray[np.float64]
LANDSCAPES: dict[str, Callable[[Array, Array, Array], Array]] = {
    "broad peak": lambda a, b, c: 0.9 - 0.06 * a**2 - 0.005 * b**2 - 0.02 * c**2,
    "sharp peak": lambda a, b, c: 0.9 - 0.08 * abs(a) - 0.02 * abs(b) - 0.05 * abs(c),
    "two peaks": lambda a, b, c: np.maximum(0.9 - 0.15 * abs(a - 0.4), 0.89 - 0.1 * abs(a + 1.2)) - 0.01 * abs(b),
    "cliff": lambda a, b, c: np.where(a > 0.2, 0.1, 0.9 - 0.02 * a**2 - 0.01 * abs(c)),
    "flat top": lambda a, b, c: 0.9 - 0.1 * np.maximum(0, abs(a) - 0.8),
}


@dataclass(frozen=True)
class Plan:
    """trials, seeds: of each contender.  examples: of the validation set.  sd: of an accuracy over seeds.  common: the
    part of the examples' variance that all trials share, because they share the validation set."""

    landscape: str = "broad peak"
    trials: int = 12
    seeds: int = 5
    examples: int = 900
    sd: float = 0.005
    common: float = 0.0

    def accuracies(self, points: int) -> Array:
        """True accuracies of the trials' settings.  points: which scrambling of the sequence."""
        drawn = qmc.Sobol(3, seed=points).random(32)[: self.trials]
        a, b, c = (drawn * [3, 3, 1.2] - [2, 1.7, 0.6]).T
        return np.maximum(LANDSCAPES[self.landscape](a, b, c), 0.1)

    def scores(self, accuracies: Array, searches: int, rng: np.random.Generator) -> Array:
        """(search, contender, trial): validation scores of two contenders that share the validation set."""
        examples = np.sqrt(accuracies * (1 - accuracies) / self.examples)
        shared, own = rng.normal(size=(searches, 1, 1)), rng.normal(size=(searches, 2, self.trials))
        of_seed = rng.normal(0, self.sd, (searches, 2, self.trials))
        found: Array = accuracies + examples * (self.common**0.5 * shared + (1 - self.common) ** 0.5 * own) + of_seed
        return found


@dataclass(frozen=True)
class Rates:
    """equal: how often the test calls equal contenders different, plain: how often the paired t-test alone does.

    found: how often it finds one that is better by one sd of the paired differences over seeds, by one and by three sd
    of the difference of the final means over whole tunings; theory: the power of a t-test with that total variance.
    true_sd, estimated: the true sd that a search adds, and the root mean square of its estimates.
    """

    equal: float
    plain: float
    found: tuple[float, ...]
    theory: tuple[float, ...]
    true_sd: float
    estimated: float


def rates(plan: Plan, *, points: int = 20, each: int = 50, seed: int = 0) -> Rates:
    """Of so many tunings with each of so many sets of points."""
    rng = np.random.default_rng(seed)
    rows = [row for number in range(points) for row in tunings(plan, plan.accuracies(number), each, rng)]
    difference, sd, added, *estimates = np.array(rows).T
    of_seeds, n = 2 * plan.sd**2 / plan.seeds, plan.seeds
    total = np.sqrt(of_seeds + 2 * added)
    better = [np.full(len(total), 2**0.5 * plan.sd), total, 3 * total]

    def p_values(offset: Array | float) -> Array:
        cases = zip(difference + offset, sd, *estimates, strict=True)
        return np.array([p_value_with_search(d, s, n, a, b) for d, s, a, b in cases])

    degrees = np.array([satterthwaite(of_seeds, n, one, one) for one in added])
    limit = stdtrit(degrees, 0.975)
    return Rates(
        equal=float(np.mean(p_values(0) <= 0.05)),
        plain=float(np.mean(abs(difference) > stdtrit(n - 1, 0.975) * sd / n**0.5)),
        found=tuple(float(np.mean((p_values(by) <= 0.05) & (difference + by > 0))) for by in better),
        theory=tuple(float(np.mean(1 - nct.cdf(limit, degrees, by / total))) for by in better),
        true_sd=float(added.mean() ** 0.5),
        estimated=float(np.mean(estimates) ** 0.5),
    )


def tunings(plan: Plan, accuracies: Array, number: int, rng: np.random.Generator) -> Iterator[tuple[float, ...]]:
    """Of each tuning: difference of the final means, sd of the paired differences, true added, both estimates of it."""
    added = float(accuracies[plan.scores(accuracies, 4000, rng).argmax(axis=2)].var())
    scores = plan.scores(accuracies, number, rng)
    finals = accuracies[scores.argmax(axis=2)][:, :, None] + rng.normal(0, plan.sd, (number, 2, plan.seeds))
    for of_search, runs in zip(scores, finals, strict=True):
        pairs = zip(of_search, runs, strict=True)
        estimates = [search_variance(one.tolist(), plan.examples, float(values.std(ddof=1))) for one, values in pairs]
        differences = runs[0] - runs[1]
        yield float(differences.mean()), float(differences.std(ddof=1)), added, *estimates


PLANS = [
    *(Plan(name) for name in LANDSCAPES),
    *(Plan(name, seeds=n) for n in (3, 10) for name in ("broad peak", "two peaks")),
    *(Plan(name, trials=n) for n in (6, 24) for name in ("broad peak", "two peaks")),
    *(Plan(name, examples=n) for n in (300, 5000) for name in ("broad peak", "two peaks")),
    *(Plan(name, common=0.7) for name in ("broad peak", "two peaks")),
]


def main() -> None:
    for plan in PLANS:
        one = rates(plan, each=25)
        columns = [one.equal, one.plain, *(value for pair in zip(one.found, one.theory, strict=True) for value in pair)]
        sds = f"{one.true_sd * 100:.2f} | {one.estimated * 100:.2f}"
        print(f"{plan} | {sds} | " + " | ".join(f"{100 * value:.1f} %" for value in columns), flush=True)


if __name__ == "__main__":
    main()
