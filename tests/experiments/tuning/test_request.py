"""A request checks itself: what was chosen by is never tested on, and the test set is never chosen by."""

from __future__ import annotations

from dataclasses import replace

import pytest

from normbench_cli.config import make_config
from normbench_cli.errors import NormbenchError, UsageError
from normbench_cli.experiments.tuning.request import Budget, TuneRequest, from_json
from normbench_cli.experiments.tuning.space import parse_space
from normbench_cli.registry.trust import NOBODY

REQUEST = TuneRequest([make_config({"norm": "bn"}), make_config({"norm": "ln"})], parse_space([]), Budget(trials=12))
VALUES = {"lr": 0.02, "weight_decay": 1e-4, "init_gain": 2.0}


def test_a_final_seed_that_is_the_trials_own_is_refused() -> None:
    with pytest.raises(UsageError, match="--seeds has 1000, the seed of the trials"):
        replace(REQUEST, seeds=(999, 1000, 1001))


@pytest.mark.parametrize("metric", ["test/accuracy", "validation/loss", "validation/accuracy@best"])
def test_only_an_accuracy_on_the_validation_set_can_decide(metric: str) -> None:
    with pytest.raises(UsageError, match="is not an accuracy on the validation set"):
        replace(REQUEST, metric=metric)


def test_a_cross_validated_data_set_is_refused_because_it_has_no_test_set() -> None:
    graphs = make_config({"data": "mutag", "model": "gin"})
    with pytest.raises(UsageError, match="no test set that tuning could leave alone"):
        replace(REQUEST, contenders=[graphs])


def test_a_trial_never_scores_the_test_set_and_a_final_run_does_at_its_end() -> None:
    trial = REQUEST.trial(1, VALUES, validation=0.2, note="trial 3")
    final = REQUEST.final(1, VALUES, 4)
    assert (trial.norm, trial.seed, trial.validation, trial.score_test) == ("layernorm", 1000, 0.2, "never")
    assert (final.seed, final.validation, final.score_test) == (4, 0.0, "end")
    assert {name: getattr(trial, name) for name in VALUES} == {name: getattr(final, name) for name in VALUES} == VALUES


def test_contenders_are_named_by_what_tells_them_apart() -> None:
    assert REQUEST.names == ["batchnorm", "layernorm"]
    assert replace(REQUEST, contenders=REQUEST.contenders[:1]).names == ["batchnorm"]


def test_a_request_comes_back_from_its_json() -> None:
    assert from_json(REQUEST.to_json(), NOBODY) == replace(REQUEST, contenders=list(REQUEST.contenders))


@pytest.mark.parametrize("name", ["contenders", "over", "budget", "seeds"])
def test_a_damaged_row_is_an_error_in_one_line(name: str) -> None:
    with pytest.raises(NormbenchError, match="not that of a tuning"):
        from_json(REQUEST.to_json() | {name: 3}, NOBODY)


def test_a_budget_counts_trials_or_seconds() -> None:
    assert [Budget(trials=2).is_left(made, 99.0) for made in (0, 1, 2)] == [True, True, False]
    assert [Budget(seconds=10).is_left(5, spent) for spent in (0.0, 9.9, 10.0)] == [True, True, False]
