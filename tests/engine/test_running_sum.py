"""A sum that keeps the digits of float64 also where there is none."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from normbench_cli.engine import running_sum
from normbench_cli.engine.running_sum import RunningSum

CPU = torch.device("cpu")
LOSSES = st.lists(st.floats(0, 2**20, width=32), min_size=1, max_size=60)


def total(values: list[float]) -> float:
    found = RunningSum(CPU)
    for value in values:
        found.add(torch.tensor(value))
    return found.item()


@given(LOSSES)
def test_without_float64_two_numbers_keep_the_digits(values: list[float]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running_sum, "has_float64", lambda device: False)
        assert total(values) == pytest.approx(math.fsum(values), rel=1e-12)


@given(LOSSES)
def test_with_float64_it_is_the_sum_in_float64(values: list[float]) -> None:
    assert total(values) == sum(values)


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_a_loss_that_is_not_finite_stays_so(value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_sum, "has_float64", lambda device: False)
    assert str(total([1.0, value, 2.0])) == str(value)
