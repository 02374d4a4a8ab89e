"""What the robust norms cost against `nn.BatchNorm2d` in the same memory format, as called and inside `torch.compile`.

A training step, forward and backward, at the four shapes of ResNet-18 with 128 images; contenders take turns round by
round; per-shape medians, geometric mean of their ratios.  Run alone, on a machine that does nothing else:

    pytest -m benchmark tests/benchmarks/test_median_price.py -s
"""

from __future__ import annotations

import math
import statistics
import time
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from normbench_cli.registry import NORMS

SHAPES = [(128, 64, 32, 32), (128, 128, 16, 16), (128, 256, 8, 8), (128, 512, 4, 4)]
FORMATS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}
ROUNDS, WARM_UP, BATCHES = 21, 6, 3
LIMITS = {  # as called, and inside a user's torch.compile; contiguous, channels_last
    ("augnorm:phi=1.5", False): (0.70, 1.25),
    ("augnorm:phi=1.5", True): (0.80, 1.35),
    ("augnorm:phi=1.2", False): (1.0, 1.9),
    ("diffphi", False): (1.0, 1.9),
    ("popnorm", False): (0.6, 1.1),
}


def seconds(layer: Any, x: Tensor, grad: Tensor) -> float:
    x = x.detach().requires_grad_()
    start = time.perf_counter()
    layer(x).backward(grad)
    return time.perf_counter() - start


def ratios(
    contenders: list[tuple[str, bool]], shape: tuple[int, ...], memory_format: torch.memory_format
) -> list[float]:
    batches = [torch.randn(shape).contiguous(memory_format=memory_format) for _ in range(BATCHES)]
    grad = torch.randn(shape).contiguous(memory_format=memory_format)
    layers: list[Any] = [nn.BatchNorm2d(shape[1])]
    for spec, compiled in contenders:
        layer = NORMS.build(spec, num_features=shape[1])
        layers.append(torch.compile(layer, fullgraph=True) if compiled else layer)
    times: list[list[float]] = [[] for _ in layers]
    for i in range(ROUNDS + WARM_UP):
        for layer, kept in zip(layers, times, strict=True):
            kept.append(seconds(layer, batches[i % BATCHES], grad))
    reference, *ours = (statistics.median(kept[WARM_UP:]) for kept in times)
    return [each / reference for each in ours]


@pytest.mark.benchmark
@pytest.mark.parametrize("memory_format", FORMATS)
def test_price_of_the_robust_norms(memory_format: str) -> None:
    torch.manual_seed(0)
    contenders, column = list(LIMITS), list(FORMATS).index(memory_format)
    by_shape = [ratios(contenders, shape, FORMATS[memory_format]) for shape in SHAPES]
    missed = []
    print(f"\n{memory_format}: times batch norm's, geometric mean (by shape), limit")
    for (spec, compiled), *found in zip(contenders, *by_shape, strict=True):
        mean, limit = math.exp(statistics.fmean(map(math.log, found))), LIMITS[spec, compiled][column]
        name = f"{spec}{', in torch.compile' if compiled else ''}"
        print(f"{name:36} {mean:.2f} ({', '.join(f'{each:.2f}' for each in found)}) <= {limit:.2f}")
        missed += [name] if mean > limit else []
    assert not missed
