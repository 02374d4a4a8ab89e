"""Values recorded from a run: those of its layers on its batches, whose time is part of another identity."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import normbench_cli as nb
from normbench_cli.errors import UsageError
from normbench_cli.experiments.profiling.activations import record_activations
from normbench_cli.experiments.profiling.plan import plan_profile
from normbench_cli.experiments.profiling.run import profile_contenders
from normbench_cli.store import Store
from normbench_cli.store.queries import series_names

LAYERS = ["hidden.0.1", "hidden.1.1", "hidden.2.1"]


@pytest.fixture(scope="module")
def run_id(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A home with one trained network, whose norms see 32 x 8 values."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NORMBENCH_HOME", str(folder))
        model = "mlp:depth=3,size=8,width=8"
        (run,) = nb.train(norm="augnorm", model=model, data="digits:size=8", iterations=2, batch_size=32)
        yield folder, run.id


@pytest.fixture
def store(run_id: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("NORMBENCH_HOME", str(run_id[0]))
    with Store.open() as opened:
        yield opened


def test_the_first_layer_of_each_shape_is_kept_or_a_named_one(run_id: tuple[Path, str], store: Store) -> None:
    found = record_activations(run_id[1], store)
    assert found.counts == {(32, 8): 3}
    first = found.values[32, 8]
    assert found.source((32, 8)) == {"run": run_id[1], "batch": 1, "layer": first.layer}
    assert {name: found.settings[name] for name in ("act", "batch_size")} == {"act": "relu", "batch_size": 32}
    assert first.layer == LAYERS[0]
    other = record_activations(run_id[1], store, layer=LAYERS[1]).values[32, 8]
    assert other.layer == LAYERS[1]
    assert not torch.equal(other.x, first.x)


def test_the_batch_before_is_the_batch_with_the_number_before(run_id: tuple[Path, str], store: Store) -> None:
    first, second = (record_activations(f"{run_id[1]}@{number}", store) for number in (1, 2))
    assert torch.equal(first.values[32, 8].x, second.values[32, 8].before)
    assert not torch.equal(first.values[32, 8].x, second.values[32, 8].x)
    assert first.label == f"from-{run_id[1]}-1"
    assert first.identity != second.identity


@pytest.mark.slow
def test_contenders_are_timed_on_them_with_both_starts(run_id: tuple[Path, str], store: Store) -> None:
    found = record_activations(run_id[1], store)
    plan = plan_profile(
        ["augnorm"], shapes=found.counts, only="layers", activations=found, starts=("warm", "cold"), rounds=5
    )
    assert plan.identity[-1] == found.identity
    run_ids, outcome = profile_contenders(plan, store)
    assert {row["layer"] for row in outcome["results"]} == {found.values[32, 8].layer}
    assert {(row["run"], row["batch"], row["count"]) for row in outcome["results"]} == {(run_id[1], 1, 3)}
    times = {f"step_time_ms@32x8{start}+{found.label}" for start in ("", "+cold")}
    assert times <= set(series_names(store, run_ids["batchnorm"]))
    iterations = {r["start"]: r["median"] for r in outcome["results"] if r["metric"] == "solver/iterations_mean"}
    assert set(iterations) == {"warm", "cold"}
    assert min(iterations.values()) > 0


@pytest.mark.parametrize(
    ("end", "layer", "message"),
    [
        ("@0", "", "'0' is not a batch"),
        ("@two", "", "'two' is not a batch"),
        ("@", "", "'' is not a batch"),
        ("", "hidden.0.l", "has no such norm layer; did you mean 'hidden.0"),
    ],
)
def test_what_cannot_be_recorded_is_one_line(
    run_id: tuple[Path, str], store: Store, end: str, layer: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        record_activations(run_id[1] + end, store, layer=layer)


def test_a_network_without_norms_has_nothing_to_record(store: Store) -> None:
    (run,) = nb.train(norm="none", model="mlp:size=8,width=8", data="digits:size=8", iterations=1, batch_size=32)
    with pytest.raises(UsageError, match="has norm 'none', and no layers of it"):
        record_activations(run.id, store)
