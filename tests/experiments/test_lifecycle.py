"""Whatever stops a run is recorded, and while it lasts it shows that it is alive; in training and in profiling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from normbench_cli import build
from normbench_cli.config import make_config
from normbench_cli.experiments import lifecycle
from normbench_cli.experiments.lifecycle import Heartbeat, begin_run, recording_outcome
from normbench_cli.experiments.profile import plan_profile, run_profile
from normbench_cli.experiments.train import train_run
from normbench_cli.store import Store
from normbench_cli.store.queries import runs_frame


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open() as opened:
        yield opened


@pytest.fixture
def run_id(store: Store) -> str:
    return begin_run(make_config({}), store, {"host": "here"}, fingerprint="f", details={})


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (KeyboardInterrupt(), "interrupted", "stopped by hand"),
        (RuntimeError("out of memory"), "failed", "RuntimeError: out of memory"),
        (SystemExit(1), "failed", "SystemExit: 1"),
    ],
)
def test_what_stops_runs_is_recorded_and_raised_again(
    store: Store, run_id: str, error: BaseException, status: str, message: str
) -> None:
    other = begin_run(make_config({}), store, {"host": "here"}, fingerprint="f", details={})

    def stop() -> None:
        with recording_outcome(store, "run {}".format) as begun:
            begun.run_ids += [run_id, other]
            raise error

    with pytest.raises(type(error)):
        stop()
    for each in (run_id, other):
        run = store.find(each)
        assert (run.status, run.message) == (status, message)


def test_a_heartbeat_comes_when_it_is_due(store: Store, run_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = store.find(run_id).heartbeat_at
    heartbeat = Heartbeat(store, run_id)
    heartbeat.beat()
    assert store.find(run_id).heartbeat_at == before
    monkeypatch.setattr(lifecycle, "SECONDS_BETWEEN_BEATS", -1)
    heartbeat.beat()
    assert store.find(run_id).heartbeat_at > before


def beats(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(lifecycle, "SECONDS_BETWEEN_BEATS", -1)
    monkeypatch.setattr(store, "heartbeat", found.append)
    return found


def test_training_beats_between_records(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    found = beats(store, monkeypatch)
    monkeypatch.setattr("normbench_cli.engine.training.Training.progress_interval", 0)
    config = make_config({"data": "digits:size=8", "model": "mlp", "iterations": 4, "batch_size": 64})
    result = train_run(build.resolve(config), store)
    assert result.status == "finished"
    assert found
    assert set(found) == {result.id}


def profile_a_layer(store: Store) -> None:
    run_profile(plan_profile(["popnorm"], shapes=[(8, 4, 6, 6)], only="layers", rounds=5), store)


def test_profiling_beats_for_every_contender(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    found = beats(store, monkeypatch)
    profile_a_layer(store)
    assert len(set(found)) == 3


def test_an_interrupted_profile_is_recorded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("normbench_cli.experiments.profiling.measure.time_interleaved", interrupted)
    with pytest.raises(KeyboardInterrupt):
        profile_a_layer(store)
    assert set(runs_frame(store)["status"]) == {"interrupted"}
