"""How fast the layers are against BatchNorm2d: training step (forward and backward), interleaved, medians.

Run alone, on a machine that does nothing else:  pytest -m benchmark tests/benchmarks -s
"""

import math
import statistics
import time
from typing import Any

import pytest
import torch
from torch import nn

from normbench_cli.registry import NORMS

SHAPES = [(128, 64, 32, 32), (128, 128, 16, 16), (128, 256, 8, 8), (128, 512, 4, 4)]


def ratio(spec: str, shape: tuple[int, ...], last: bool, rounds: int = 21, warm_up: int = 6) -> float:
    inputs = [torch.randn(shape) for _ in range(3)]  # several: the search must not profit from seeing the same data
    grad = torch.randn(shape)
    if last:
        inputs = [x.to(memory_format=torch.channels_last) for x in inputs]
        grad = grad.to(memory_format=torch.channels_last)
    layers = [nn.BatchNorm2d(shape[1]), NORMS.build(spec, num_features=shape[1])]
    times: list[list[float]] = [[], []]
    for i in range(rounds + warm_up):
        for layer, kept in zip(layers, times, strict=True):
            x = inputs[i % 3].detach().requires_grad_()
            start = time.perf_counter()
            layer(x).backward(grad)
            kept.append(time.perf_counter() - start)
    reference, ours = (statistics.median(kept[warm_up:]) for kept in times)
    print(f"{spec} {shape} {'channels_last' if last else 'contiguous'}: {ours * 1e3:.2f} / {reference * 1e3:.2f} ms")
    return ours / reference


@pytest.mark.benchmark
@pytest.mark.parametrize(
    ("spec", "last", "policy", "most"),
    [
        ("augnorm:phi=1.5", False, "auto", 0.9),
        ("augnorm:phi=1.5", True, "auto", 1.6),
        ("popnorm", False, "auto", 0.7),
        ("popnorm", True, "auto", 1.3),
        ("augnorm:phi=1.5", False, "never", 5.0),
    ],
)
def test_geometric_mean_of_ratios(
    spec: Any, last: Any, policy: Any, most: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORMBENCH_COMPILE", policy)
    ratios = [ratio(spec, shape, last) for shape in SHAPES]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{spec} {policy} {'channels_last' if last else 'contiguous'}: {mean:.2f} ({[round(r, 2) for r in ratios]})")
    assert mean <= most
