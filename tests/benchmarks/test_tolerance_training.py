"""Whether the tolerance of the solver changes a training: paired runs with the default and with tol=exact.

`NORMBENCH_DATA` names the folder with CIFAR-10; the digits need none.  Each seed is trained twice; the difference of
the two training losses is set against the spread over seeds.

    pytest -m benchmark tests/benchmarks/test_tolerance_training.py -s
"""

from __future__ import annotations

import math
import os
import statistics
from pathlib import Path
from typing import Any

import pytest

import normbench_cli as nb

SEEDS = range(3)
T_95 = 4.303  # of Student's t with two degrees of freedom
TRAININGS: dict[str, dict[str, Any]] = {
    "digits": {"epochs": 12},
    "cifar10": {"epochs": 3},  # 1,170 iterations
}


def final_losses(data: str, norm: str) -> list[float]:
    results = nb.train(norm=norm, model="resnet20", data=data, seeds=SEEDS, **TRAININGS[data])
    return [result.metrics["train/loss"] for result in results]


@pytest.mark.benchmark
@pytest.mark.parametrize("phi", [1.5, 1.2])
@pytest.mark.parametrize("data", TRAININGS)
def test_the_tolerance_changes_a_training_less_than_the_seed(
    data: str, phi: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if data == "cifar10" and not Path(os.environ.get("NORMBENCH_DATA", ""), "cifar-10-batches-py").is_dir():
        pytest.skip("NORMBENCH_DATA names no folder with CIFAR-10")
    monkeypatch.setenv("NORMBENCH_HOME", str(tmp_path))
    default, exact = (final_losses(data, f"augnorm:phi={phi}{end}") for end in ("", ",tol=exact"))
    differences = [a - b for a, b in zip(default, exact, strict=True)]
    mean, error = statistics.fmean(differences), statistics.stdev(differences) / math.sqrt(len(differences))
    spread = statistics.stdev(exact)
    interval = f"{mean - T_95 * error:.2g} to {mean + T_95 * error:.2g}"
    print(f"{data} phi={phi}: loss {default} and {exact}; paired {mean:.2g} ({interval}); sd over seeds {spread:.2g}")
    assert abs(mean) < spread
