"""Timing is interleaved, in shuffled order, after warming up; ratios are taken round by round.

The machine is simulated: work takes the milliseconds that the test names, and no test waits.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle, repeat

import pytest
import torch

from normbench_cli.measure.timing import (
    Timing,
    Work,
    is_precise,
    ratio,
    sample_ms,
    time_interleaved,
    warm_up,
    why_stopped,
)

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


def test_a_real_sample_is_the_mean_of_its_calls() -> None:
    calls: list[int] = []
    assert sample_ms(lambda: calls.append(1), CPU, repeats=5) >= 0
    assert len(calls) == 5


def test_quantiles_of_samples() -> None:
    timing = Timing("a", [float(value) for value in range(101)])
    assert (timing.median, timing.iqr, timing.p95) == (50.0, 50.0, 95.0)


@pytest.mark.parametrize(("ms", "repeats"), [(5.0, 1), (2.0, 1), (1.0, 2), (0.3, 6), (0.001, 1000), (0.0, 1000)])
def test_a_sample_lasts_two_milliseconds_but_has_a_thousand_calls_at_most(
    machine: Machine, ms: float, repeats: int
) -> None:
    assert warm_up("a", machine.work("a", repeat(ms)), CPU, machine.sampler).repeats == repeats


def test_repeats_are_those_of_the_fastest_call(machine: Machine) -> None:
    assert warm_up("a", machine.work("a", iter([9.0, 0.5, 1.0, 1.0])), CPU, machine.sampler).repeats == 4


@pytest.mark.parametrize(("third", "calls"), [(9.0, 3), (11.0, 3), (8.9, 4), (11.1, 4)])
def test_samples_that_differ_by_a_tenth_are_still_warm(machine: Machine, third: float, calls: int) -> None:
    times = iter([99.0, 10.0, third, third])
    assert warm_up("a", machine.work("a", times), CPU, machine.sampler).warmup == calls


@pytest.mark.parametrize(("reference", "steady"), [(None, "a"), ("b", "b")])
def test_the_reference_is_the_first_contender_or_the_one_named(
    machine: Machine, reference: str | None, steady: str
) -> None:
    work = {name: machine.work(name, repeat(5.0)) for name in "ab"}
    seen: list[str] = []

    def precise(timings: object, against: Timing, precision: float) -> bool:
        seen.append(against.name)
        return True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("normbench_cli.measure.timing.is_precise", precise)
        time_interleaved(work, CPU, rounds=5, precision=0.1, reference=reference, sampler=machine.sampler)
    assert seen == [steady]


@pytest.mark.parametrize("rounds", [1, 5, 6])
def test_what_is_precise_at_once_gets_no_further_rounds(machine: Machine, rounds: int) -> None:
    work = {name: machine.work(name, repeat(5.0)) for name in "ab"}
    timings = time_interleaved(work, CPU, rounds=rounds, precision=0.1, sampler=machine.sampler, clock=machine.clock)
    assert [len(timing.samples) for timing in timings] == [rounds] * 2


def test_the_precision_is_looked_at_after_five_rounds_and_later_after_a_fifth_more(machine: Machine) -> None:
    work = {name: machine.work(name, repeat(5.0)) for name in "ab"}
    looks: list[int] = []

    def precise(timings: Iterable[Timing], against: Timing, precision: float) -> bool:
        looks.append(len(against.samples))
        return len(looks) == 6

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("normbench_cli.measure.timing.is_precise", precise)
        time_interleaved(work, CPU, rounds=20, precision=0.1, sampler=machine.sampler, clock=machine.clock)
    assert looks == [20, 25, 30, 36, 43, 51]


def test_something_may_be_done_after_each_round(machine: Machine) -> None:
    work = {name: machine.work(name, repeat(5.0)) for name in "ab"}
    time_interleaved(work, CPU, rounds=4, sampler=machine.sampler, between=lambda: machine.calls.append("|"))
    rounds = "".join(machine.calls[-12:]).split("|")
    assert ["".join(sorted(names)) for names in rounds] == ["ab"] * 4 + [""]
    assert machine.calls.count("|") == 4


def test_why_there_are_no_more_rounds() -> None:
    steady, unsteady = Timing("a", [5.0] * 6), Timing("b", [1.0, 9.0] * 3)
    assert why_stopped([steady, unsteady], steady, None) == "rounds"
    assert why_stopped([steady, unsteady], steady, 0.5) == "budget"
    assert why_stopped([steady], steady, 0.5) == "precise"


def test_all_contenders_have_to_be_precise() -> None:
    steady, unsteady = Timing("a", [5.0] * 6), Timing("b", [1.0, 9.0] * 3)
    assert is_precise([steady, steady], steady, 0.0)
    assert not is_precise([steady, unsteady], steady, 0.5)
