"""Races are interleaved, warmed up and keep every sample; ratios and saved bytes are what they must be."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from normbench_cli.measure.memory import saved_activation_bytes
from normbench_cli.measure.timing import Timing, is_noisy, ratio, time_interleaved

CPU = torch.device("cpu")


def test_a_race_is_interleaved_and_finds_who_is_slower() -> None:
    calls: list[str] = []

    def work(name: str, seconds: float) -> Callable[..., Any]:
        return lambda: (calls.append(name), time.sleep(seconds))

    timings = time_interleaved({"slow": work("slow", 0.009), "fast": work("fast", 0.003)}, CPU, rounds=8)
    slow, fast = timings
    assert len(slow.laps) == len(fast.laps) == 8
    assert min(slow.warmup, fast.warmup) >= 3
    found = ratio(slow, fast)
    assert found.low <= found.median <= found.high
    assert found.low > 1
    raced = calls[-16:]
    assert all(sorted(raced[i : i + 2]) == ["fast", "slow"] for i in range(0, 16, 2))


def test_precision_goes_on_until_it_is_reached_or_time_is_over() -> None:
    timings = time_interleaved(
        {"a": lambda: time.sleep(0.003), "b": lambda: time.sleep(0.003)}, CPU, rounds=5, precision=1e-9, seconds=0.5
    )
    assert len(timings[0].laps) > 5


def test_ratio_of_equal_samples_is_one() -> None:
    timing = Timing("a", [1.0, 2.0, 3.0])
    assert ratio(timing, timing).median == 1
    assert ratio(timing, timing).width == 0


@pytest.mark.parametrize(("laps", "noisy"), [([1.0] * 9, False), ([1.0, 2.0, 3.0, 4.0], True)])
def test_a_wide_spread_is_called_noisy(laps: list[float], noisy: bool) -> None:
    assert is_noisy(0, 0, Timing("a", laps)) == noisy
    assert is_noisy(0.5, 0, Timing("a", laps))


def test_saved_bytes_are_counted_once_and_without_parameters() -> None:
    x = torch.randn(10, 10, requires_grad=True)
    layer = nn.Linear(10, 10)
    assert saved_activation_bytes(lambda: layer(x), layer) == 400
    assert saved_activation_bytes(lambda: x.exp() + x.exp()) == 800
    assert saved_activation_bytes(lambda: x * x) == 400
