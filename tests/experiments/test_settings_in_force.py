"""A run computes with the settings that it asks for, records them, and leaves torch as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import normbench_cli as nb
from normbench_cli.device import GpuState
from normbench_cli.errors import NormbenchError
from normbench_cli.experiments import details, environment, evaluate
from normbench_cli.store import Store
from normbench_cli.store.queries import details_of

SHORT: dict[str, Any] = {"model": "mlp:width=8,depth=1", "iterations": 1, "batch_size": 16, "compile": False}
NORM = """
import torch
class Puts(torch.nn.Module):
    def __init__(self, num_features):
        super().__init__()
    def forward(self, x):
        torch.zeros(4).put_(torch.tensor([0, 0]), torch.ones(2))
        return x
"""


@pytest.fixture(autouse=True)
def torch_is_left_as_it_was() -> Iterator[None]:
    yield
    assert not torch.are_deterministic_algorithms_enabled()


def facts_of(run_id: str) -> dict[str, Any]:
    with Store.open() as store:
        return dict(store.find(run_id).environment.facts)


def test_a_deterministic_run_says_so_in_its_environment_and_is_scored_so() -> None:
    (plain,) = nb.train(**SHORT)
    (result,) = nb.train(deterministic=True, **SHORT)
    assert [facts_of(run.id)["deterministic"] for run in (plain, result)] == [False, True]
    assert result.config.deterministic
    assert nb.evaluate(result.id).metrics["test/accuracy"] == result.metrics["test/accuracy"]


def test_what_cannot_be_deterministic_ends_the_run_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "puts_norm.py").write_text(NORM)
    monkeypatch.syspath_prepend(tmp_path)
    (result,) = nb.train(norm="puts_norm:Puts", **SHORT)
    assert result.status == "finished"
    with pytest.raises(NormbenchError, match="put_ cannot be deterministic on this device; drop --deterministic"):
        nb.train(norm="puts_norm:Puts", deterministic=True, **SHORT)
    newest = nb.runs().iloc[0]
    assert newest["status"] == "failed"


def test_what_a_gpu_says_of_itself_is_recorded_with_runs_and_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    state = GpuState(1410, 1980, None, 250, 300, 61, ("heat",), 2)
    for module in (environment, details):
        monkeypatch.setattr(module, "gpu_state", lambda device: state)
    monkeypatch.setattr(environment, "flag_facts", lambda device: {"tf32_conv": True})
    monkeypatch.setattr(evaluate, "device_name", lambda device: "a GPU")
    (result,) = nb.train(**SHORT)
    facts = facts_of(result.id)
    assert facts["flags"] == {"tf32_conv": True}
    assert facts["limits"] == {"max_clock_mhz": 1980, "application_clock_mhz": None, "power_limit_w": 250}
    nb.evaluate(result.id)
    with Store.open() as store:
        found = details_of(store, [result.id])[result.id]
    assert found["gpu"] == state.to_dict()
    (remark,) = [remark for remark in found["remarks"] if remark.startswith("scored on a GPU: ")]
    assert json.loads(remark.partition(": ")[2]) == {"flags": facts["flags"], "limits": facts["limits"]}
