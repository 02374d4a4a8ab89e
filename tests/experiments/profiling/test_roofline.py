"""The bandwidth of a machine is measured once and kept, but never one that was measured beside another program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from normbench_cli import paths
from normbench_cli.experiments.profiling import roofline
from normbench_cli.experiments.profiling.roofline import Roofline
from normbench_cli.measure.bandwidth import Speed

FACTS: dict[str, Any] = {"device_name": "a processor", "device": "cpu", "threads": 2}
CPU = torch.device("cpu")


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes that were measured; each time the machine is twice as fast, and steady from 2^16 bytes on."""
    sizes: list[int] = []

    def measure(asked: Sequence[int], device: torch.device) -> dict[int, Speed]:
        sizes.extend(asked)
        return {size: Speed(1e9 * 2 ** sizes.count(size), size >= 2**16) for size in asked}

    monkeypatch.setattr(roofline, "measure_bandwidth", measure)
    return sizes


def test_a_size_is_measured_once_for_all_commands(measured: list[int]) -> None:
    for _ in range(2):
        assert Roofline(FACTS, CPU).least_ms(2 * 10**6, 2**16) == pytest.approx(1.0)
    assert measured == [2**16]
    assert Roofline(FACTS | {"threads": 1}, CPU).least_ms(2, 2**16)
    assert measured == [2**16] * 2


def test_what_was_measured_on_a_busy_machine_is_used_but_not_kept(measured: list[int]) -> None:
    for _ in range(2):
        assert Roofline(FACTS, CPU).least_ms(1, 2**15)
    assert measured == [2**15] * 2


def test_a_second_measurement_counts_if_it_is_faster(measured: list[int]) -> None:
    own = Roofline(FACTS, CPU)
    assert own.least_ms(4 * 10**6, 2**17) == pytest.approx(2.0)
    assert own.least_ms_again(4 * 10**6, 2**17) == pytest.approx(1.0)
    assert Roofline(FACTS, CPU).least_ms(4 * 10**6, 2**17) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"a processor, cpu, 2, 1": 3}', '{"k": {"a": 1}, "l": {"65536": -1}}', '{"k": {"65536": "x"}}'],
)
def test_a_damaged_file_is_measured_anew(text: str, measured: list[int]) -> None:
    paths.bandwidth_file().parent.mkdir(parents=True)
    paths.bandwidth_file().write_text(text)
    assert Roofline(FACTS, CPU).least_ms(1, 2**16)
    assert measured == [2**16]


def test_where_there_is_no_memory_to_find_out_there_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(sizes: Sequence[int], device: torch.device) -> dict[int, Speed]:
        raise MemoryError

    monkeypatch.setattr(roofline, "measure_bandwidth", measure)
    assert Roofline(FACTS, CPU).least_ms(1, 2**16) is None
