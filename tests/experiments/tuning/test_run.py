"""A whole tuning of a tiny network: the test set, repetition, equality with runs by hand, kills, diverged trials."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import normbench_cli as nb
from normbench_cli.config import make_config
from normbench_cli.datasets._images.memory import InMemoryBatches
from normbench_cli.engine import loop
from normbench_cli.experiments.tuning.request import Budget, TuneRequest
from normbench_cli.experiments.tuning.run import Tuning, recorded_request, tune
from normbench_cli.experiments.tuning.space import parse_space
from normbench_cli.store import Store
from normbench_cli.store.queries import metrics_frame, runs_frame

TEST_EXAMPLES = 360
SETTINGS: dict[str, Any] = {"model": "mlp:size=8,width=16", "data": "digits:size=8", "batch_size": 256, "epochs": 3}


def request(norms: tuple[str, ...] = ("batchnorm", "none"), trials: int = 2, **changes: Any) -> TuneRequest:
    contenders = [make_config(SETTINGS | {"norm": norm}) for norm in norms]
    return replace(TuneRequest(contenders, parse_space([]), Budget(trials=trials), seeds=(0, 1)), **changes)


def trainings() -> int:
    with Store.open() as store:
        return len(runs_frame(store, kind="train"))


@pytest.fixture
def test_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows by one with every pass over the test set."""
    reads: list[int] = []
    epoch = InMemoryBatches.epoch

    def counted(self: InMemoryBatches, number: int = 0, first: int = 0) -> Any:
        if self.examples == TEST_EXAMPLES:
            reads.append(1)
        return epoch(self, number, first)

    monkeypatch.setattr(InMemoryBatches, "epoch", counted)
    return reads


def test_the_test_set_is_read_once_for_each_final_run_and_a_second_time_nothing_is_trained(
    test_reads: list[int],
) -> None:
    made = tune(request(("batchnorm",)))
    assert (trainings(), len(test_reads)) == (4, 2)
    again = tune(request(("batchnorm",)))
    assert (trainings(), len(test_reads)) == (4, 2)
    assert again.run_id == made.run_id
    assert [trial.outcome.run_id for trial in again.contenders[0].trials] == [
        trial.outcome.run_id for trial in made.contenders[0].trials
    ]
    with Store.open() as store:
        trials = [trial.outcome.run_id for trial in made.contenders[0].trials]
        recorded = set(metrics_frame(store, trials)["metric"])
        assert "validation/accuracy" in recorded
        assert not [name for name in recorded if name.startswith("test/")]
        assert store.find(made.run_id).kind == "tune"


@pytest.mark.slow
def test_a_trial_is_bit_equal_to_the_run_that_train_makes_of_its_settings() -> None:
    made = tune(request(("batchnorm",), trials=1))
    trial = made.contenders[0].trials[0]
    words = {"norm": "batchnorm", "validation": 0.2, "score_test": "never", **trial.values}
    by_hand = nb.train(**SETTINGS | words, seeds=1000)[0]
    assert by_hand.id != trial.outcome.run_id
    with Store.open() as store:
        assert by_hand.fingerprint == store.find(trial.outcome.run_id).fingerprint
        names = ["train/loss", "validation/loss", "validation/accuracy"]
        frame = metrics_frame(store, [by_hand.id, trial.outcome.run_id], names, curve=True)
    curves = [part.sort_values(["metric", "epoch"])["value"].tolist() for _, part in frame.groupby("run_id")]
    assert len(curves[0]) == 9
    assert curves[0] == curves[1]


@pytest.mark.slow
@pytest.mark.parametrize("step", [3, 17, 40, 55])
def test_a_tuning_that_is_interrupted_and_started_again_comes_to_the_same_and_repeats_nothing(
    step: int, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = scores(tune(request(), db=str(tmp_path / "whole.db")))
    steps: list[int] = []
    train_step = vars(loop)["train_step"]

    def interrupted(*given: Any) -> Any:
        steps.append(1)
        if len(steps) == step:
            raise KeyboardInterrupt
        return train_step(*given)

    monkeypatch.setattr(loop, "train_step", interrupted)
    with pytest.raises(KeyboardInterrupt, match="the same command continues the tuning"):
        tune(request())
    made = tune(request())
    assert scores(made) == whole
    assert trainings() == 8
    with Store.open() as store:
        frame = runs_frame(store, kind="train")
        assert set(frame["status"]) == {"finished"}
        assert len(runs_frame(store, kind="tune")) == 1


def scores(made: Tuning) -> list[Any]:
    trials = [(trial.values, trial.outcome.score) for one in made.contenders for trial in one.trials]
    return trials + [result.metrics["test/accuracy"] for finals in made.finals for result in finals.values()]


@pytest.mark.slow
def test_stopped_trials_can_be_resumed_and_are_stopped_again_without_training() -> None:
    asked = request(("batchnorm",), trials=6, pruner="asha")
    asked = replace(asked, contenders=[replace(one, epochs=9) for one in asked.contenders])
    made = tune(asked)
    states = [trial.outcome.status for trial in made.contenders[0].trials]
    assert "stopped" in states
    count = trainings()
    again = tune(asked)
    assert [trial.outcome.status for trial in again.contenders[0].trials] == states
    assert trainings() == count
    with Store.open() as store:
        stopped = next(trial for trial in made.contenders[0].trials if trial.outcome.status == "stopped")
        run = store.find(stopped.outcome.run_id)
        assert (run.status, run.message.split(",")[0]) == (
            "interrupted",
            f"stopped by tune after epoch {stopped.outcome.epoch}",
        )


@pytest.mark.slow
def test_a_contender_whose_trials_all_diverge_has_no_final_run_and_costs_the_other_nothing() -> None:
    space = parse_space(["lr=log:1e20..1e30"])
    made = tune(replace(request(("none",)), space=space))
    assert {trial.outcome.status for trial in made.contenders[0].trials} == {"diverged"}
    assert made.contenders[0].chosen is None
    assert made.finals == [{}]


@pytest.mark.slow
def test_a_recorded_tuning_is_continued_by_its_id_with_the_same_request() -> None:
    made = tune(request(("batchnorm",), trials=1))
    assert recorded_request(made.run_id, None) == request(("batchnorm",), trials=1)
