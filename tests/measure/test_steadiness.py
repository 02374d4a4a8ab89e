"""The calibration before, between and after the rounds says how steady the machine was."""

from __future__ import annotations

from itertools import count

import pytest
import torch

from normbench_cli.measure.steadiness import AT_EACH_END, Steadiness, is_noisy
from normbench_cli.measure.timing import Timing

STEADY = Timing("a", [1.0] * 9)


def steadiness(before: float, between: float, after: float, rounds: int = 5) -> Steadiness:
    """Of a machine on which the calibration takes these times."""
    now = before
    found = Steadiness.begin(torch.device("cpu"), lambda work, device, repeats: now)
    now = between
    for _ in range(rounds):
        found.after_round()
    now = after
    found.end()
    return found


def test_the_calibration_is_timed_before_between_and_after_the_rounds() -> None:
    found = steadiness(4.0, 5.0, 6.0, rounds=3)
    assert found.samples == [4.0] * AT_EACH_END + [5.0] * 3 + [6.0] * AT_EACH_END
    assert found.repeats == 1


@pytest.mark.parametrize(
    ("times", "noisy"),
    [((4.0, 4.0, 4.0), False), ((4.0, 4.0, 4.5), False), ((4.0, 4.0, 4.7), True), ((4.0, 4.0, 3.3), True)],
)
def test_a_machine_that_is_another_one_after_the_last_round_is_noisy(
    times: tuple[float, float, float], noisy: bool
) -> None:
    assert steadiness(*times).is_noisy == noisy
    assert is_noisy(steadiness(*times), STEADY) == noisy


def test_a_machine_that_varies_between_the_rounds_is_noisy() -> None:
    numbers = count()
    found = Steadiness.begin(torch.device("cpu"), lambda work, device, repeats: 4.0 + next(numbers) % 2)
    found.end()
    assert found.drift == pytest.approx(0, abs=0.25)
    assert found.spread > 0.15
    assert found.is_noisy


@pytest.mark.parametrize(("samples", "noisy"), [([1.0] * 9, False), ([1.0, 2.0, 3.0, 4.0], True), ([0.0] * 3, False)])
def test_a_contender_that_varies_is_noisy_on_a_steady_machine(samples: list[float], noisy: bool) -> None:
    assert is_noisy(steadiness(4.0, 4.0, 4.0), Timing("a", samples)) == noisy
