"""What the robust norms cost against `nn.BatchNorm2d` in the same memory format, as called and inside `torch.compile`.

A training step, forward and backward, at the four shapes of ResNet-18 with 128 images; contenders take turns in random
order, three batches take turns too; medians by shape, geometric mean of their ratios.  Run alone, on a machine that
does nothing else (a minute or two, the first time some more for compiling):

    pytest -m benchmark tests/benchmarks/test_median_price.py -s
"""

from __future__ import annotations

import math
import random
import statistics
import time
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from normbench_cli.measure.memory import saved_activation_bytes
from normbench_cli.registry import NORMS
from tests.norms.counted_passes import CountedPasses

SHAPES = [(128, 64, 32, 32), (128, 128, 16, 16), (128, 256, 8, 8), (128, 512, 4, 4)]
FORMATS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}
ROUNDS, WARM_UP, BATCHES = 31, 8, 3
NO_LIMIT = math.inf
LIMITS = {  # as called, and inside a user's torch.compile; contiguous, channels_last, passes of the search
    ("augnorm:phi=1.5", False): (0.70, 1.25, 1.3),
    ("augnorm:phi=1.5", True): (0.80, 1.35, 1.3),
    ("augnorm:phi=1.2", False): (1.0, 1.9, 2.5),
    ("augnorm:phi=1.2", True): (NO_LIMIT, NO_LIMIT, 2.5),
    ("diffphi", False): (1.0, 1.9, NO_LIMIT),
    ("popnorm", False): (0.6, 1.1, NO_LIMIT),
    ("popnorm", True): (NO_LIMIT, NO_LIMIT, NO_LIMIT),
    ("augnorm:phi=1.5,tol=exact", False): (NO_LIMIT, NO_LIMIT, NO_LIMIT),
    ("augnorm:phi=1.2,tol=exact", False): (NO_LIMIT, NO_LIMIT, NO_LIMIT),
}


def seconds(layer: Any, x: Tensor, grad: Tensor) -> float:
    x = x.detach().requires_grad_()
    start = time.perf_counter()
    layer(x).backward(grad)
    return time.perf_counter() - start


def measured(shape: tuple[int, ...], memory_format: torch.memory_format) -> list[tuple[float, float, float]]:
    """Of each contender: time and saved bytes in units of batch norm's, and passes of the search in a step."""
    torch.compiler.reset()  # it compiles one forward method for eight layers at most
    batches = [torch.randn(shape).contiguous(memory_format=memory_format) for _ in range(BATCHES)]
    grad = torch.randn(shape).contiguous(memory_format=memory_format)
    plain = [nn.BatchNorm2d(shape[1]), *(NORMS.build(spec, num_features=shape[1]) for spec, _ in LIMITS)]
    compiled = [False, *(inside for _, inside in LIMITS)]
    layers: list[Any] = [
        torch.compile(layer, fullgraph=True) if c else layer for layer, c in zip(plain, compiled, strict=True)
    ]
    draw = random.Random(0)
    times: list[list[float]] = [[] for _ in layers]
    passes: list[list[float]] = [[] for _ in layers]
    with pytest.MonkeyPatch.context() as patch:
        counted = CountedPasses(patch)
        for i in range(WARM_UP + ROUNDS):
            for number in draw.sample(range(len(layers)), len(layers)):  # what ran before changes what the memory costs
                counted.reset()
                times[number].append(seconds(layers[number], batches[i % BATCHES], grad))
                passes[number].append(counted.mean)
    took = [statistics.median(each[WARM_UP:]) for each in times]
    made = [statistics.fmean(each[WARM_UP:]) for each in passes]
    x = batches[0].requires_grad_()
    saved = [saved_activation_bytes(partial(layer, x), layer) for layer in plain]
    return [(t / took[0], b / saved[0], p) for t, b, p in zip(took[1:], saved[1:], made[1:], strict=True)]


@pytest.mark.benchmark
@pytest.mark.filterwarnings("ignore")  # those of the compiler
def test_price_of_the_robust_norms() -> None:
    torch.manual_seed(0)
    missed = []
    print(f"\n{'':38}{'times batch norm (by shape)':34}{'at most':>8} {'passes':>7} {'at most':>8} {'saved':>6}")
    for column, (name, memory_format) in enumerate(FORMATS.items()):
        by_shape = [measured(shape, memory_format) for shape in SHAPES]
        for ((spec, inside), limits), found in zip(LIMITS.items(), zip(*by_shape, strict=True), strict=True):
            ratios, saved, passes = zip(*found, strict=True)
            ratio, searched = math.exp(statistics.fmean(map(math.log, ratios))), statistics.fmean(passes)
            row = f"{name[:10]:11}{spec}{' compiled' if inside else ''}"
            each = " ".join(f"{r:.2f}" for r in ratios)
            print(f"{row:38}{ratio:5.2f} ({each:19}) {limits[column]:14.2f} {searched:7.2f} {limits[2]:8.1f}", end="")
            print(f" {max(saved):6.3f}")
            over = ratio > limits[column] or searched > limits[2] or max(saved) > 1.05
            missed += [row] if over else []
    assert not missed
