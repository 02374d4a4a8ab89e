"""A planted truth: equal contenders are a tie, a better one is found as often as the test's power says, and pruning
seldom stops the trial that would have won."""

from __future__ import annotations

import numpy as np
import pytest

from normbench_cli.reporting.statistics.power import t_test_power
from tests.experiments.tuning.record_curves import recorded_curves
from tests.experiments.tuning.simulated import Objective, replayed, search, tuned

TUNINGS = 200


@pytest.fixture(autouse=True)
def without_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    """statsmodels collects garbage whenever it corrects p-values; over hundreds of tunings that takes a minute."""
    monkeypatch.setattr("gc.collect", lambda: 0)


@pytest.mark.slow
def test_a_contender_under_two_names_is_a_tie_in_95_percent_of_tunings() -> None:
    """Their noise is independent in trials and final runs, so often two different settings are chosen."""
    rng = np.random.default_rng(0)
    rankings = [tuned([Objective(), Objective()], rng) for _ in range(TUNINGS)]
    ties = sum(one.is_tie(name) for one in rankings for name in one.p)
    assert ties >= 0.95 * TUNINGS


@pytest.mark.slow
def test_one_that_is_better_by_one_sd_of_the_differences_is_found_as_often_as_theory_says() -> None:
    """With a validation set that leaves nothing to chance; the power is that of the paired t-test at n = 5."""
    rng, exact = np.random.default_rng(1), 10**9
    plain = Objective(examples=exact, sd=0.0002)
    better = Objective(examples=exact, sd=0.0002, peak=plain.peak + 2**0.5 * plain.sd)
    rankings = [tuned([plain, better], rng) for _ in range(TUNINGS)]
    found = sum(one.best == 1 and not one.is_tie(0) for one in rankings) / TUNINGS
    power = t_test_power(1.0, 5, 0.05)
    assert abs(found - power) < 3 * (power * (1 - power) / TUNINGS) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize("trials", [12, 27])
def test_asha_stops_the_trial_that_would_have_won_in_at_most_a_tenth_of_cases(trials: int) -> None:
    rng, searches, lost, stopped = np.random.default_rng(1), 100, 0, 0
    for _ in range(searches):
        (contender,), (whole,) = search([Objective()], rng, trials=trials, pruner="asha")
        states = [trial.outcome.status for trial in contender.trials]
        lost += states[int(np.argmax(whole))] == "stopped"
        stopped += states.count("stopped")
    assert stopped > 0.25 * searches * trials  # or hardly anything is pruned
    assert lost <= 0.1 * searches


@pytest.mark.slow
def test_asha_stops_the_winner_of_real_curves_in_at_most_a_tenth_of_searches() -> None:
    """Twelve trials drawn from those that were recorded, in random order."""
    rng, searches, lost, stopped = np.random.default_rng(0), 100, 0, 0
    curves = [curve for of_norm in recorded_curves().values() for curve in of_norm]
    for _ in range(searches):
        drawn = [curves[number] for number in rng.permutation(len(curves))[:12]]
        states = [trial.outcome.status for trial in replayed(drawn, "asha").trials]
        lost += states[int(np.argmax([curve[-1] for curve in drawn]))] == "stopped"
        stopped += states.count("stopped")
    assert stopped > 0.25 * searches * 12
    assert lost <= 0.1 * searches
