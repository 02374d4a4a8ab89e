"""A device without float64: everything that a run does there works, and gives the CPU's numbers.

Each task has a process of its own (`on_standin.py`), because torch keeps what is registered.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils import backend_registration

from normbench_cli.device import back_from_float64, has_float64, in_float64, precision
from normbench_cli.registry import NORMS

ROOT = Path(__file__).parents[2]
CPU = torch.device("cpu")
on_standin = pytest.mark.skipif(
    not hasattr(backend_registration, "_setup_privateuseone_for_python_backend"), reason="a later torch has it"
)


def done(*tasks: str) -> dict[str, Any]:
    command = [sys.executable, "-W", "ignore", "-m", "tests.device.on_standin", *tasks]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


@on_standin
@pytest.mark.slow
def test_every_norm_and_the_median_compute_there_what_they_compute_on_a_cpu() -> None:
    found = done("refusal", "norms", "networks", "median")
    assert set(found["refusal"].values()) == {"standin has no float64"}
    assert len(found["norms"]) > 5
    assert max(found["norms"].values()) < 1e-6
    assert found["networks"] == dict.fromkeys(NORMS.entries, True)
    assert found["median"] == {"same": True}


@on_standin
@pytest.mark.slow
def test_a_training_its_evaluation_and_a_profile_run_there() -> None:
    found = done("train", "profile")
    cpu, there = found["train"]["bn"]["cpu"], found["train"]["bn"]["standin"]
    scores = [name for name in cpu if name.startswith(("test/", "train/", "weights/"))]
    assert {"test/loss", "test/loss@bim:steps=1", "test/loss@fog:severity=1", "train/loss"} <= set(scores)
    assert {name: there[name] for name in scores} == pytest.approx({name: cpu[name] for name in scores}, rel=1e-5)
    cpu, there = found["train"]["diffphi"]["cpu"], found["train"]["diffphi"]["standin"]
    assert set(there) == set(cpu)
    assert there["test/loss"] == pytest.approx(cpu["test/loss"], rel=0.02)  # its solver looks less on a device
    assert found["profile"] == {"statuses": ["ok"], "messages": []}


def test_the_cpu_takes_over_where_a_device_has_no_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.tensor([1.5])
    assert not has_float64(torch.device("mps"))
    assert in_float64(x).dtype == torch.float64
    assert back_from_float64(x.double(), CPU).dtype == torch.float64
    monkeypatch.setattr(precision, "WITHOUT_FLOAT64", {"cpu"})
    assert not has_float64(CPU)
    assert back_from_float64(x.double(), CPU).dtype == torch.float32
    assert back_from_float64(torch.tensor([True]), CPU).dtype == torch.bool
