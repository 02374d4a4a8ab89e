"""normbench tune: words that cannot be meant are refused before anything is loaded; a recorded tuning is reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from normbench_cli.config import make_config
from normbench_cli.experiments.tuning.request import Budget, TuneRequest
from normbench_cli.experiments.tuning.space import parse_space
from normbench_cli.store import Store
from tests.support import RunCommand

SCORES = {"batchnorm": [0.9, 0.95, 0.945], "popnorm": [0.7, 0.8, 0.0]}


@pytest.fixture
def tuning(enter: Callable[..., str]) -> str:
    """A recorded tuning of two norms with three trials and six final runs each, without training."""
    request = TuneRequest([make_config({"norm": name}) for name in SCORES], parse_space([]), Budget(trials=3))
    found = []
    for name, scores in SCORES.items():
        trials = [
            {
                "number": number,
                "values": {"lr": 10.0**-number, "weight_decay": 1e-4, "init_gain": 1.0},
                "status": "finished" if score else "diverged",
                "score": score,
                "seconds": 2.0,
                "epoch": 3,
                "run": "",
            }
            for number, score in enumerate(scores)
        ]
        worse = 0.2 * (name == "popnorm")
        runs = [enter(0.9 - worse + seed / 1000, norm=name, seed=seed) for seed in range(6)]
        finals = [{"seed": seed, "run": run, "status": "finished"} for seed, run in enumerate(runs)]
        found.append({"name": name, "examples": 10_000_000, "trials": trials, "chosen": 1, "finals": finals})
    with Store.open() as store:
        run_id = store.begin(request.to_json(), "t", {}, kind="tune", argv=[], details={"tune": found})
        store.end(run_id, "finished")
    return run_id


def test_a_tuning_is_reported_with_what_was_chosen_its_test_and_its_search(normbench: RunCommand, tuning: str) -> None:
    shown = normbench("tune", "--report", "--json")
    assert shown.code == 0, shown.err
    document = json.loads(shown.out)
    best, worse = document["contenders"]
    assert (document["tune"], best["contender"], best["chosen_lr"], best["verdict"]) == (
        tuning,
        "batchnorm",
        0.1,
        "best",
    )
    assert best["test_mean"] == pytest.approx(0.9025)
    assert (worse["verdict"], worse["diverged"], worse["test_n"]) == ("worse", 1, 6)
    assert best["robust_width"] == pytest.approx(1)
    assert [point["best"] for point in best["expected_best"]] == pytest.approx([2.795 / 3, 0.948333333, 0.95])


def test_a_tuning_writes_its_two_figures(normbench: RunCommand, tuning: str, tmp_path: Path) -> None:
    shown = normbench("tune", tuning, "--report", "--out", str(tmp_path / "out"))
    assert shown.code == 0, shown.err
    assert "0 (" not in shown.out.partition("The search")[0]
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {f"tune-{tuning}.md", f"tune-{tuning}-sensitivity.svg", f"tune-{tuning}-expected-best.csv"} <= names


def test_a_damaged_tuning_is_an_error_in_one_line(normbench: RunCommand, tuning: str) -> None:
    with Store.open() as store:
        store.add_details(tuning, {"tune": [{"name": 3}]})
    shown = normbench("tune", "--report")
    assert (shown.code, "what is recorded of it cannot be read" in shown.err) == (1, True)


def test_without_a_tuning_nothing_was_measured(normbench: RunCommand) -> None:
    assert normbench("tune", "--report").code == 4


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--budget", "none"], "--budget none is neither a number of trials nor a time; write 12, 90s or 10min"),
        (["--budget", "0"], "--budget 0 is neither"),
        (["--sampler", "tpee"], "did you mean 'tpe'"),
        (["--pruner", "asah"], "did you mean 'asha'"),
        (["--lr", "0.1"], "lr is given and searched"),
        (["--set", "score_test=end"], "a tuning sets it itself"),
        (["--seeds", "999-1001"], "--seeds has 1000, the seed of the trials"),
        (["--over", "lr=1..0"], "does not go up"),
        (["--report", "--norm", "bn"], "--norm describes a new tuning"),
        (["d322c4f1", "--budget", "24"], "--budget describes a new tuning, and a recorded one is named"),
        (["d322c4f1", "--trial-seed", "1"], "--trial-seed describes a new tuning"),
        (["--report", "--seeds", "0-9"], "--seeds describes a new tuning"),
        (["--data", "mutag", "--model", "gin", "--sampler", "tpe"], "is cross-validated"),
        (["--validation", "1"], "give a fraction between 0 and 1"),
    ],
)
def test_what_cannot_be_meant_is_refused(normbench: RunCommand, words: list[str], says: str) -> None:
    ended = normbench("tune", *words)
    assert (ended.code, says in ended.err) == (2, True), ended.err
