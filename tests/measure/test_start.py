"""Solvers begin warm or cold as is asked for, outside of the time; layers without a start are left alone."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from normbench_cli.measure.cases import LayerCase
from normbench_cli.measure.start import kept_starts, started
from normbench_cli.measure.timing import Prepared, sample_ms
from normbench_cli.measure.workloads import LayerData, layer_workload
from normbench_cli.norms import AugNorm

CPU = torch.device("cpu")
CASE = LayerCase((64, 3))


def skewed(seed: int, shift: float = 0.0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.empty(64, 3).exponential_(generator=generator) + shift


def recorded_starts(workload_step: object, layer: nn.Module, calls: int = 3) -> list[Tensor]:
    """What each of some calls begins with: the offset, then the center of the batch before."""
    seen: list[Tensor] = []
    handle = layer.register_forward_pre_hook(lambda module, _: seen.append(torch.stack(module.starts)))
    for _ in range(calls):
        workload_step()  # type: ignore[operator]
    handle.remove()
    return seen


def test_a_cold_start_is_zero_in_every_call_and_a_warm_one_is_where_the_call_before_ended() -> None:
    values = (skewed(1), skewed(2))
    for start in ("cold", "warm"):
        layer = AugNorm(3)
        workload = layer_workload(layer, LayerCase((64, 3), start=start), CPU, LayerData.make(CASE, CPU, values))
        first, second, third = recorded_starts(workload.step, layer)
        assert torch.equal(first, second)
        assert torch.equal(second, third)
        assert (first.abs().sum() == 0) == (start == "cold")


def test_a_warm_start_on_recorded_values_comes_from_the_batch_before() -> None:
    starts = []
    for before in (skewed(2), -skewed(2)):
        layer = AugNorm(3)
        data = LayerData.make(CASE, CPU, (skewed(1), before))
        starts.append(recorded_starts(layer_workload(layer, CASE, CPU, data).step, layer)[1])
    assert torch.allclose(starts[0], -starts[1], atol=1e-3)
    assert starts[0].abs().min() > 0.1


def test_on_normal_data_a_warm_start_is_left_to_the_layer() -> None:
    assert not isinstance(layer_workload(AugNorm(3), CASE, CPU).step, Prepared)
    assert isinstance(layer_workload(AugNorm(3), LayerCase((64, 3), start="cold"), CPU).step, Prepared)


@pytest.mark.parametrize("timed", ["backward", "eval"])
def test_a_pass_without_a_search_has_no_start(timed: str) -> None:
    case = LayerCase((64, 3), timed=timed, start="cold")
    assert not isinstance(layer_workload(AugNorm(3), case, CPU).step, Prepared)


def test_a_layer_without_a_solver_is_called_as_it_is() -> None:
    def work() -> None: ...

    assert kept_starts(nn.BatchNorm1d(3)) == []
    assert started(work, nn.BatchNorm1d(3), "cold") is work


def test_what_prepares_a_call_is_called_before_each_and_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, calls = [0], list[str]()
    monkeypatch.setattr("time.perf_counter_ns", lambda: clock[0])

    def taking(name: str, milliseconds: int) -> None:
        calls.append(name)
        clock[0] += milliseconds * 1_000_000

    work = Prepared(lambda: taking("work", 2), lambda: taking("prepare", 50))
    assert sample_ms(work, CPU, 3) == 2
    assert calls == ["prepare", "work"] * 3
