"""The bandwidth of a simulated memory with caches: by size, from the faster kernel and the fastest sample."""

from __future__ import annotations

from functools import partial
from itertools import cycle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from normbench_cli.measure.bandwidth import LARGEST, SMALLEST, Bandwidth, Speed, measure_bandwidth, neighbors
from normbench_cli.measure.timing import Work

CPU = torch.device("cpu")
SIZES = st.integers(1, 2**31)


def tensors_of(work: Work) -> list[torch.Tensor]:
    """The arrays that a kernel works on."""
    assert isinstance(work, partial)
    given = (*work.args, *work.keywords.values(), getattr(work.func, "__self__", None))
    return [each for each in given if isinstance(each, torch.Tensor)]


def test_a_size_has_the_bandwidth_of_the_faster_kernel_in_its_fastest_sample() -> None:
    stalls = cycle([1.0, 1.0, 1.1, 3.0])

    def sampler(work: Work, device: torch.device, repeats: int) -> float:
        arrays = tensors_of(work)
        copies, large = len(arrays) == 2, sum(array.nbytes for array in arrays) > 2**16
        return (2.0 if copies else 1.0) * (8.0 if large else 1.0) * next(stalls)

    found = measure_bandwidth([2**15, 2**17], CPU, sampler=sampler)
    assert found[2**15].bytes_per_s == pytest.approx(2**15 / 1e-3)
    assert found[2**17].bytes_per_s == pytest.approx(2**17 / 8e-3)


@pytest.mark.parametrize(("slow", "steady"), [(1.2, True), (1.4, False)])
def test_a_measurement_is_steady_if_most_of_its_samples_are_alike(slow: float, steady: bool) -> None:
    times = cycle([1.0, slow, slow])
    found = measure_bandwidth([2**15], CPU, sampler=lambda work, device, repeats: next(times))
    assert found[2**15].steady == steady


@given(SIZES)
def test_the_sizes_around_a_working_set_are_powers_of_two_within_the_limits(size: int) -> None:
    low, high = neighbors(size)
    assert low.bit_count() == high.bit_count() == 1
    assert SMALLEST <= low <= high <= LARGEST
    assert low <= max(size, SMALLEST)
    assert high >= min(size, LARGEST)
    assert high in (low, 2 * low)


@given(SIZES, st.floats(1e8, 1e12), st.floats(1e8, 1e12))
def test_between_two_sizes_the_bandwidth_is_between_theirs(size: int, one: float, other: float) -> None:
    low, high = neighbors(size)
    bandwidth = Bandwidth({low: one, high: other})
    least, most = sorted([bandwidth.bytes_per_s[low], bandwidth.bytes_per_s[high]])
    assert least * (1 - 1e-9) <= bandwidth.at(size) <= most * (1 + 1e-9)


def test_the_least_time_by_hand() -> None:
    bandwidth = Bandwidth({2**20: 10e9, 2**21: 5e9})
    assert bandwidth.least_ms(10**7, 2**20) == pytest.approx(1.0)
    # half way between the sizes: the time of moving 2^20 bytes at 10 GB/s and 2^21 bytes at 5 GB/s, in the middle
    seconds = (2**20 / 10e9 + 2**21 / 5e9) / 2
    assert bandwidth.at(3 * 2**19) == pytest.approx(3 * 2**19 / seconds)


def test_a_faster_measurement_replaces_a_slower_one_and_not_the_other_way_round() -> None:
    kept = Bandwidth({2**15: 5.0, 2**16: 5.0})
    found = kept.with_faster({2**16: Speed(7.0, True), 2**15: Speed(3.0, False), 2**17: Speed(1.0, True)})
    assert found.bytes_per_s == {2**15: 5.0, 2**16: 7.0, 2**17: 1.0}
    assert kept.missing(2**17) == [2**17, 2**17]
    assert found.missing(2**17) == []
