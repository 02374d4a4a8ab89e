"""Parameters of components that are searched: only of the contenders that have them, and in the words of the axes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from normbench_cli.config import RunConfig, make_config
from normbench_cli.errors import UsageError
from normbench_cli.experiments.tuning.parameters import with_parameter
from normbench_cli.experiments.tuning.request import Budget, TuneRequest, from_json
from normbench_cli.experiments.tuning.sampling import Study
from normbench_cli.experiments.tuning.space import Range, parse_space
from normbench_cli.registry.trust import NOBODY

CONTENDERS = [make_config({"norm": norm, "model": "mlp"}) for norm in ("batchnorm", "augnorm", "ws+popnorm")]
OVER = ["augnorm:phi=1.1..1.9", "lr=log:0.01..1"]


def request(over: Sequence[str] = OVER, contenders: Sequence[RunConfig] = CONTENDERS) -> TuneRequest:
    return TuneRequest(contenders, parse_space(over, contenders), Budget(trials=2))


def test_a_parameter_is_searched_of_the_contenders_that_have_it() -> None:
    assert [list(request().space_of(index)) for index in range(3)] == [["lr"], ["lr", "augnorm:phi"], ["lr"]]


def test_contenders_try_the_same_settings_whatever_else_is_searched_of_them() -> None:
    asked = request()
    studies = [Study(asked.space_of(index), "quasi-random", "none", 5, asked.space) for index in range(3)]
    plain, searched, other = ([study.ask().values for _ in range(20)] for study in studies)
    assert [values["lr"] for values in searched] == [values["lr"] for values in plain]
    assert plain == other
    phis = sorted(values["augnorm:phi"] for values in searched)
    assert 1.1 <= phis[0] < 1.2 < 1.8 < phis[-1] <= 1.9


def test_a_trial_has_the_parameter_in_its_spec() -> None:
    values = {"lr": 0.25, "augnorm:phi": 1.3}
    trial, final = request().trial(1, values), request().final(1, values, 0)
    assert (trial.norm, trial.lr, final.norm) == ("augnorm:phi=1.3", 0.25, "augnorm:phi=1.3")


def test_a_parameter_is_set_beside_those_that_a_spec_has() -> None:
    joined = make_config({"norm": "ws+popnorm:kappa=2", "model": "mlp"})
    assert with_parameter(joined, "popnorm:eps", 0.5).norm == "weightstandardization+popnorm:eps=0.5,kappa=2"
    assert with_parameter(joined, "mlp:width", 24).model == "mlp:width=24"


def test_a_parameter_that_counts_gets_whole_numbers_and_an_alias_its_name() -> None:
    space = parse_space(["mlp:width=16..64", "bn:momentum=0.01..0.5"], CONTENDERS)
    assert space == {"mlp:width": Range(16, 64, whole=True), "batchnorm:momentum": Range(0.01, 0.5)}
    assert space["mlp:width"].rounded(33.4) == 33


def test_a_request_with_parameters_comes_back_from_its_json() -> None:
    asked = request(["mlp:width=16..64", "lr=log:0.01..1"])
    assert from_json(asked.to_json(), NOBODY) == asked


@pytest.mark.parametrize(
    ("over", "says"),
    [
        ("augnrm:phi=1.1..1.9", "no contender has augnrm; did you mean 'augnorm'"),
        ("diffphi:phi=1.1..1.9", "no contender has diffphi"),
        ("augnorm:ph=1.1..1.9", "augnorm has no number 'ph'; did you mean 'phi'"),
        ("augnorm:solver=1..2", "augnorm has no number 'solver'"),
        ("phi=1.1..1.9", "a parameter is named with its component; write augnorm:phi"),
        ("norm.phi=1.1..1.9", "a parameter is named with its component; write augnorm:phi"),
        ("augnorm:phi=0.5..1.9", "reaches 0.5; give 1 to 16"),
        ("augnorm:phi=1.1..1.9/5", "lists values, and a range is searched"),
    ],
)
def test_a_parameter_that_cannot_be_meant_is_refused_with_the_right_one(over: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        request([over, "lr=log:0.01..1"])
    assert says in str(refused.value)


def test_a_contender_of_which_nothing_is_searched_is_refused() -> None:
    with pytest.raises(UsageError, match="--over names nothing of batchnorm; name a setting too"):
        request(["augnorm:phi=1.1..1.9"])
