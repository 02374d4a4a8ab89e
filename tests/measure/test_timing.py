"""Timing is interleaved, in shuffled order, after warming up; ratios are taken round by round.

The machine is simulated: work takes the milliseconds that the test names, and no test waits.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import cycle, repeat

import pytest
import torch

from normbench_cli.measure.timing import Timing, Work, is_noisy, ratio, sample_ms, time_interleaved, warm_up

CPU = torch.device("cpu")


class Machine:
    """Keeps the time that simulated work has taken, and the order of the calls."""

    def __init__(self) -> None:
        self.ms = 0.0
        self.calls: list[str] = []

    def work(self, name: str, times: Iterator[float]) -> Callable[[], None]:
        def call() -> None:
            self.calls.append(name)
            self.ms += next(times)

        return call

    def sampler(self, work: Work, device: torch.device, repeats: int) -> float:
        started = self.ms
        for _ in range(repeats):
            work()
        return (self.ms - started) / repeats

    def clock(self) -> float:
        return self.ms / 1e3


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_rounds_are_interleaved_and_the_slower_one_is_found(machine: Machine) -> None:
    work = {"slow": machine.work("slow", repeat(9.0)), "fast": machine.work("fast", repeat(3.0))}
    slow, fast = time_interleaved(work, CPU, rounds=8, sampler=machine.sampler)
    assert (slow.samples, fast.samples) == ([9.0] * 8, [3.0] * 8)
    assert ratio(slow, fast).median == 3
    rounds = [machine.calls[-16:][i : i + 2] for i in range(0, 16, 2)]
    assert all(sorted(each) == ["fast", "slow"] for each in rounds)


def test_every_round_has_an_order_of_its_own(machine: Machine) -> None:
    names = ["a", "b", "c"]
    work = {name: machine.work(name, repeat(5.0)) for name in names}
    time_interleaved(work, CPU, rounds=20, sampler=machine.sampler, rng=random.Random(7))
    timed = machine.calls[-60:]
    expected, rng, order = list[str](), random.Random(7), list(names)
    for _ in range(20):
        rng.shuffle(order)
        expected += order
    assert timed == expected
    assert {tuple(timed[i : i + 3]) for i in range(0, 60, 3)} >= {("a", "b", "c"), ("c", "b", "a"), ("b", "a", "c")}


def test_short_work_is_repeated_within_a_sample(machine: Machine) -> None:
    (timing,) = time_interleaved({"a": machine.work("a", repeat(0.25))}, CPU, rounds=2, sampler=machine.sampler)
    assert timing.repeats == 8
    assert timing.samples == [0.25, 0.25]
    assert len(machine.calls) == timing.warmup + 2 * 8


@pytest.mark.parametrize(
    ("times", "calls"),
    [
        (repeat(4.0), 3),  # at least three
        (iter([99.0, 9.0, 8.0, 7.5, 7.5]), 4),  # until two in a row differ by at most a tenth
        (cycle([4.0, 8.0]), 30),  # but not for ever
    ],
)
def test_work_is_called_until_it_is_warm(machine: Machine, times: Iterator[float], calls: int) -> None:
    assert warm_up("a", machine.work("a", times), CPU, machine.sampler).warmup == calls


def test_rounds_go_on_until_the_precision_is_reached(machine: Machine) -> None:
    after_warm_up = [5.0] * 3 + [1.0, 9.0] * 4  # the first eight rounds are unsteady
    work = {
        "reference": machine.work("reference", repeat(5.0)),
        "unsteady": machine.work("unsteady", iter(after_warm_up + [5.0] * 200)),
    }
    _, unsteady = time_interleaved(work, CPU, rounds=5, precision=0.01, sampler=machine.sampler, clock=machine.clock)
    assert 15 <= len(unsteady.samples) < 60


def test_rounds_end_when_the_time_is_over(machine: Machine) -> None:
    work = {"steady": machine.work("steady", repeat(5.0)), "unsteady": machine.work("unsteady", cycle([5.0, 9.0]))}
    timings = time_interleaved(
        work, CPU, rounds=5, precision=1e-9, seconds=0.5, sampler=machine.sampler, clock=machine.clock
    )
    assert 500 <= sum(sum(timing.samples) for timing in timings) < 500 + 14


def test_a_ratio_is_the_median_of_the_ratios_of_rounds_not_the_ratio_of_medians() -> None:
    found = ratio(Timing("a", [1.0, 10.0, 4.0]), Timing("b", [1.0, 5.0, 8.0]))
    assert found.median == 1.0  # of 1, 2 and 1/2; the medians are 4 and 5
    assert 0.5 <= found.low <= found.median <= found.high <= 2.0


def test_the_ratio_of_equal_samples_is_one_and_certain() -> None:
    timing = Timing("a", [1.0, 2.0, 3.0])
    assert ratio(timing, timing).median == 1
    assert ratio(timing, timing).width == 0


@pytest.mark.parametrize(("samples", "noisy"), [([1.0] * 9, False), ([1.0, 2.0, 3.0, 4.0], True)])
def test_a_wide_spread_is_called_noisy(samples: list[float], noisy: bool) -> None:
    assert is_noisy(0, 0, Timing("a", samples)) == noisy
    assert is_noisy(0.5, 0, Timing("a", samples))


def test_a_real_sample_is_the_mean_of_its_calls() -> None:
    calls: list[int] = []
    assert sample_ms(lambda: calls.append(1), CPU, repeats=5) >= 0
    assert len(calls) == 5
