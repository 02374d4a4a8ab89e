"""What the robust norms cost on MUTAG, and that their scores stay: ten folds, 400 epochs, the GCN of the paper.

`NORMBENCH_DATA` names the folder that holds MUTAG.  Contenders take turns seed by seed; kernels are compiled before.
Statistic B is the mean over folds of each fold's best validation accuracy; `tol=exact` is what it was without a
tolerance.  Run alone, on a machine that does nothing else:

    NORMBENCH_DATA=... pytest -m benchmark tests/benchmarks/test_median_on_graphs.py -s
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import pytest

import normbench_cli as nb
from normbench_cli.paths import data_root

SEEDS = (9, 10, 11)
B = "validation/accuracy@best_per_fold"
LIMITS = {"augnorm": 1.25, "auggraphnorm": 3.0}  # times batch norm's seconds
POINT = 0.01


def seconds_and_score(norm: str, seed: int, epochs: int = 400) -> tuple[float, float]:
    start = time.perf_counter()
    (run,) = nb.train(norm=norm, recipe="augnorm-graph", seeds=seed, epochs=epochs, rerun=True)
    return time.perf_counter() - start, run.metrics[B]


@pytest.mark.benchmark
def test_graphs_with_a_robust_center(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not any((data_root() / folder / "MUTAG").exists() for folder in (".", "TUDataset")):
        pytest.skip("NORMBENCH_DATA does not hold MUTAG")
    monkeypatch.setenv("NORMBENCH_HOME", str(tmp_path))
    norms = ["batchnorm", *(f"{name}{end}" for name in LIMITS for end in ("", ":tol=exact"))]
    for norm in norms:
        seconds_and_score(norm, SEEDS[0], epochs=2)
    found: dict[str, list[tuple[float, float]]] = {norm: [] for norm in norms}
    for seed in SEEDS:
        for norm in norms:
            found[norm].append(seconds_and_score(norm, seed))
    seconds, scores = ({norm: [each[i] for each in of] for norm, of in found.items()} for i in (0, 1))
    print(f"\n{'':24}{'seconds':>9}{'times batch norm':>18}{'B, mean of seeds':>18}")
    for norm in norms:
        ratios = [own / plain for own, plain in zip(seconds[norm], seconds["batchnorm"], strict=True)]
        middle = statistics.median(seconds[norm])
        print(f"{norm:24}{middle:9.1f}{statistics.median(ratios):18.2f}{statistics.fmean(scores[norm]):18.4f}")
    for name, most in LIMITS.items():
        ratios = [own / plain for own, plain in zip(seconds[name], seconds["batchnorm"], strict=True)]
        assert statistics.median(ratios) <= most
        assert statistics.fmean(scores[name]) == pytest.approx(statistics.fmean(scores[f"{name}:tol=exact"]), abs=POINT)
