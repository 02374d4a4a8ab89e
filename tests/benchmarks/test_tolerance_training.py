"""Whether the tolerance of the solver changes a training: paired runs with the default and with tol=exact.

`NORMBENCH_DATA` names the folder with CIFAR-10; the digits need none.  Each seed is trained twice; the differences of
the two loss curves are compared with the spread over seeds, epoch by epoch.  Two trainings with the same seed drift
apart as soon as one bit differs, so even without an effect they differ about as much as two seeds do.

    pytest -m benchmark tests/benchmarks/test_tolerance_training.py -s
"""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest

import normbench_cli as nb

SEEDS = range(6)  # of three, the spread is known too badly
T_95 = 2.571  # of Student's t with five degrees of freedom
EPOCHS = {"digits": 12, "cifar10": 3}  # CIFAR-10: 1,170 iterations


def curves(data: str, norm: str) -> np.ndarray:
    """The training losses, a row a seed, a column an epoch."""
    nb.train(norm=norm, model="resnet20", data=data, seeds=SEEDS, epochs=EPOCHS[data])
    found = nb.metrics("train/loss", where=[f"norm={norm}", f"data={data}"])
    values: np.ndarray = found.pivot_table(index="seed", columns="epoch", values="value").to_numpy()
    return values


@pytest.mark.benchmark
@pytest.mark.parametrize("phi", [1.5, 1.2])
@pytest.mark.parametrize("data", EPOCHS)
def test_the_tolerance_changes_a_training_less_than_the_seed(
    data: str, phi: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if data == "cifar10" and not Path(os.environ.get("NORMBENCH_DATA", ""), "cifar-10-batches-py").is_dir():
        pytest.skip("NORMBENCH_DATA names no folder with CIFAR-10")
    monkeypatch.setenv("NORMBENCH_HOME", str(tmp_path))
    default, exact = (curves(data, f"augnorm:phi={phi}{end}") for end in ("", ",tol=exact"))
    differences = default - exact
    mean, half = differences.mean(0), T_95 * differences.std(0, ddof=1) / math.sqrt(len(SEEDS))
    spread = exact.std(0, ddof=1)
    print(f"\n{data} phi={phi}, loss by epoch: paired difference (95 % interval), sd over seeds of tol=exact")
    for epoch, (m, h, s) in enumerate(zip(mean, half, spread, strict=True)):
        print(f"{epoch:5} {exact[:, epoch].mean():8.4f} {m:+.4f} ({m - h:+.4f} to {m + h:+.4f}) {s:.4f}")
    assert np.abs(mean).mean() < spread.mean()
