"""A tuning has the same request, and so the same fingerprint, from the command line and from Python."""

from __future__ import annotations

from typing import Any

import pytest

import normbench_cli as nb
from normbench_cli.cli import _tuning
from normbench_cli.errors import UsageError
from normbench_cli.experiments.identity import fingerprints
from normbench_cli.experiments.tuning import run
from normbench_cli.experiments.tuning.parsing import make_request, parse_budget
from normbench_cli.experiments.tuning.request import Budget, TuneRequest
from tests.support import RunCommand

SETTINGS: dict[str, Any] = {"norm": ["bn", "augnorm"], "act": "sigmoid", "model": "mlp", "epochs": 2, "batch_size": 64}
WORDS = ["--norm", "bn,augnorm", "--act", "sigmoid", "--model", "mlp", "--epochs", "2", "--batch-size", "64"]
OVER = {"lr": "log:0.01..1", "augnorm:phi": "1.1..1.9"}
RANGES = ["lr=log:0.01..1", "augnorm:phi=1.1..1.9"]
TIMED: dict[str, Any] = {"budget": "10min", "sampler": "tpe", "seeds": [3, 5, 6]}
OTHERS: dict[str, Any] = {"init": "xavier", "validation": 0.3, "trial_seed": 9}


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["--over", "lr=log:0.01..1", "--over", "augnorm:phi=1.1..1.9"], {"over": OVER}),
        (["--over", "augnorm:phi=1.1..1.9", "--over", "lr=log:0.01..1"], {"over": RANGES}),
        (["--budget", "10min", "--sampler", "tpe", "--seeds", "3,5-6"], TIMED),
        (["--budget", "4", "--pruner", "asha", "--seed", "7"], {"budget": 4, "pruner": "asha", "seeds": 7}),
        (["--set", "init=xavier", "--validation", "0.3", "--trial-seed", "9"], OTHERS),
    ],
)
def test_the_command_and_python_ask_for_the_same(
    words: list[str], options: dict[str, Any], normbench: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[TuneRequest] = []

    def note(request: TuneRequest, *_: object) -> int:
        asked.append(request)
        return 0

    monkeypatch.setattr(_tuning, "run", note)
    monkeypatch.setattr(run, "tune", note)
    assert normbench("tune", *WORDS, *words).code == 0
    nb.tune(**SETTINGS, **options)
    command, python = asked
    assert command == python
    assert list(command.space) == list(python.space)
    assert command.fingerprint(fingerprints(command.contenders)) == python.fingerprint(fingerprints(python.contenders))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"lr": [0.1, 0.2]}, "lr has several values, and contenders differ in norm, act"),
        ({"lr": 0.1}, "lr is given and searched"),
        ({"norm": "augnorm:phi=1.5", "over": OVER}, "augnorm:phi is given and searched"),
        ({"norm": "augnorm:phi=1.3,bn", "over": OVER}, "augnorm:phi is given and searched"),
        ({"fold": 1, "data": "toy_graphs", "model": "gcn"}, "fold: a tuning sets it itself"),
        ({"over": "lr"}, "--over lr is not key=value"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as refused:
        make_request({name: value for name, value in given.items() if name != "over"}, over=given.get("over", ()))
    assert says in str(refused.value)


@pytest.mark.parametrize("given", [{"norm": "bn"}, {"budget": 24}, {"seeds": [0, 1]}, {"over": OVER}])
def test_a_new_tuning_and_a_recorded_one_are_not_asked_for_together(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"^{next(iter(given))} describes a new tuning, and a recorded one is named"):
        nb.tune("d322c4f1", **given)


def test_networks_of_graphs_are_searched_without_a_factor_of_their_initial_weights() -> None:
    asked = make_request({"data": "toy_graphs", "model": "gcn"})
    assert list(asked.space) == ["lr", "weight_decay"]


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("12", Budget(trials=12)),
        ("90s", Budget(seconds=90)),
        ("10min", Budget(seconds=600)),
        ("1.5h", Budget(seconds=5400)),
    ],
)
def test_a_budget_is_trials_or_time(text: str, budget: Budget) -> None:
    assert parse_budget(text) == budget


@pytest.mark.parametrize("text", ["-1", "1e9h", "min", "10 min", "0s", "100000"])
def test_another_budget_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--budget"):
        parse_budget(text)
