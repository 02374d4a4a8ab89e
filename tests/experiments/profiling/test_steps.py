"""Steps of models: training and evaluation, of images and graphs, with the norm's share; failures are results."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from normbench_cli.build import ResolvedConfig
from normbench_cli.experiments.profiling import workloads
from normbench_cli.experiments.profiling.plan import places, plan_profile
from normbench_cli.experiments.profiling.run import peak_process, profile_contenders
from normbench_cli.experiments.profiling.step_worker import step_job
from normbench_cli.experiments.profiling.steps import example, step_workload
from normbench_cli.measure.workloads import Workload
from normbench_cli.store import Store
from normbench_cli.store.queries import series_names

MLP = {"model": "mlp:depth=2,size=8,width=8", "data": "digits:size=8", "batch_size": 16}
GCN = {"model": "gcn:hidden=8,n_layers=2", "data": "toy_graphs", "batch_size": 8}


def plan_of(settings: dict[str, Any], *norms: str, **options: Any) -> Any:
    return plan_profile(norms, settings=settings, only="model", rounds=5, **options)


@pytest.mark.parametrize(("settings", "norm"), [(MLP, "augnorm"), (GCN, "graphnorm")])
def test_a_training_step_learns_and_an_evaluation_changes_nothing(settings: dict[str, Any], norm: str) -> None:
    config = plan_of(settings, norm).configs[-1]
    for step in ("train", "eval"):
        workload = step_workload(config, step)
        before = {name: value.clone() for name, value in workload.model.state_dict().items()}
        workload.step()
        changed = any(not torch.equal(before[name], value) for name, value in workload.model.state_dict().items())
        assert changed == workload.model.training == (step == "train")
        assert (workload.saved_bytes > 0) == (step == "train")


@pytest.mark.parametrize("settings", [MLP, GCN])
def test_all_norms_get_the_same_batch(settings: dict[str, Any]) -> None:
    labels = [example(config)[2] for config in plan_of(settings, "layernorm").configs]
    assert len(labels[0]) == settings["batch_size"]
    assert all(torch.equal(each, labels[0]) for each in labels)


@pytest.mark.slow
def test_rows_of_a_model_have_rates_and_shares_and_are_recorded() -> None:
    plan = plan_of(MLP, "augnorm", steps=("train", "eval"), starts=("warm", "cold"))
    model = plan.configs[0].model
    assert [place.condition for place in places(plan)] == [model, f"{model}+cold", f"{model}+eval"]
    with Store.open() as store:
        run_ids, found = profile_contenders(plan, store)
        assert {f"step_time_ms@{model}", f"step_time_ms@{model}+eval"} <= set(series_names(store, run_ids["augnorm"]))
        recorded = store.latest_metrics(run_ids["augnorm"])
    times = [row for row in found["results"] if row["metric"] == "step_time_ms"]
    assert {row["batch_size"] for row in times} == {16}
    for row in times:
        assert row["share_low"] <= row["share"] <= row["share_high"] < 1
        assert (row["share"] == 0) == (row["contender"] == row["reference"])
    own = next(r for r in times if (r["contender"], r["reference"], r["step"]) == ("augnorm", "none", "eval"))
    assert recorded[f"norm_share@{model}+eval"] == pytest.approx(own["share"], rel=1e-5, abs=1e-6)
    rates = [row for row in found["results"] if row["metric"] == "samples_per_s" and row["step"] == "eval"]
    assert recorded[f"samples_per_s@{model}+eval"] == pytest.approx(
        next(row["median"] for row in rates if row["contender"] == "augnorm"), rel=1e-3
    )


def test_unusual_steps_are_part_of_the_identity() -> None:
    identities = [
        plan_of(MLP, **options).identity
        for options in ({}, {"steps": ("eval",)}, {"steps": ("train", "eval")}, {"starts": ("cold",)})
    ]
    assert identities[0] == [[], True]
    assert len({str(identity) for identity in identities}) == 4


def test_a_norm_for_which_there_is_no_memory_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(config: ResolvedConfig, step: str, start: str) -> Workload:
        if config.norm == "layernorm":
            raise MemoryError
        return step_workload(config, step, start)

    monkeypatch.setattr(workloads, "step_workload", make)
    with Store.open() as store:
        found = profile_contenders(plan_of(MLP, "layernorm"), store)[1]
    statuses = {row["contender"]: row["status"] for row in found["results"] if row["metric"] == "step_time_ms"}
    assert statuses == {"none": "ok", "batchnorm": "ok", "layernorm": "oom"}


@pytest.mark.slow
@pytest.mark.parametrize("settings", [MLP, GCN])
def test_the_peak_of_a_step_is_measured_in_a_process_of_its_own(settings: dict[str, Any]) -> None:
    plan = plan_of(settings | {"batch_size": 64}, memory=True)
    with peak_process(plan) as peaks:
        peak = peaks.ask(step_job(plan.configs[-1], next(places(plan))))
    assert (peak.status, peak.message) == ("ok", "")
    assert peak.bytes is None or 0 < peak.bytes < 2**28
