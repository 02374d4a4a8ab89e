"""A layer as a workload: each pass, with the bytes that it saves, also for an identity and for anybody's layer."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from normbench_cli.measure.cases import PASSES, LayerCase
from normbench_cli.measure.workloads import LayerData, layer_workload

CPU = torch.device("cpu")


@pytest.mark.parametrize("layer", [nn.BatchNorm2d(3), nn.Identity()])
@pytest.mark.parametrize("memory_format", ["contiguous", "channels_last"])
@pytest.mark.parametrize("timed", PASSES)
def test_a_layer_runs_in_every_pass(layer: nn.Module, memory_format: str, timed: str) -> None:
    workload = layer_workload(layer, LayerCase((4, 3, 5, 5), memory_format=memory_format, timed=timed), CPU)
    workload.step()
    workload.step()
    has_work = bool(list(layer.parameters()))
    assert workload.model is layer
    assert (workload.saved_bytes > 0) == (has_work and timed != "eval")
    assert workload.does_nothing == (not has_work)
    assert all(p.grad is None for p in layer.parameters())  # a step leaves nothing behind


def test_equal_cases_have_equal_data() -> None:
    one, other = (LayerData.make(LayerCase((4, 3)), CPU) for _ in range(2))
    assert torch.equal(one.x, other.x)
    assert torch.equal(one.gradient, other.gradient)


class Watched(nn.Linear):
    """Notes what it is called with."""

    def __init__(self) -> None:
        super().__init__(6, 6)
        self.seen: list[tuple[bool, torch.dtype, torch.dtype, bool]] = []
        self.backwards = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = super().forward(x)
        last = x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last)
        self.seen.append((self.training, x.dtype, y.dtype, last))
        if y.requires_grad:
            y.register_hook(self.count)
        return y

    def count(self, gradient: torch.Tensor) -> None:
        self.backwards += 1


@pytest.mark.parametrize(
    ("options", "x", "y"),
    [
        ({}, torch.float32, torch.float32),
        ({"dtype": "float64"}, torch.float64, torch.float64),
        ({"dtype": "bfloat16"}, torch.bfloat16, torch.bfloat16),
        ({"amp": "bf16"}, torch.float32, torch.bfloat16),
    ],
)
@pytest.mark.parametrize("memory_format", ["contiguous", "channels_last"])
def test_a_layer_is_called_as_it_is_asked_for(
    options: dict[str, Any], x: torch.dtype, y: torch.dtype, memory_format: str
) -> None:
    layer = Watched().eval()
    workload = layer_workload(layer, LayerCase((2, 3, 4, 6), memory_format=memory_format, **options), CPU)
    workload.step()
    assert set(layer.seen) == {(True, x, y, memory_format == "channels_last")}


@pytest.mark.parametrize(
    ("timed", "training", "forwards", "backwards"),
    [("both", True, 1, 1), ("forward", True, 1, 0), ("backward", True, 0, 1), ("eval", False, 1, 0)],
)
def test_a_pass_is_what_its_name_says(timed: str, training: bool, forwards: int, backwards: int) -> None:
    layer = Watched()
    workload = layer_workload(layer, LayerCase((2, 6), timed=timed), CPU)
    layer.seen.clear()
    layer.backwards = 0
    workload.step()
    assert [seen[0] for seen in layer.seen] == [training] * forwards
    assert layer.backwards == backwards


def test_channels_last_has_no_meaning_for_other_shapes() -> None:
    layer = Watched()
    layer_workload(layer, LayerCase((2, 6), memory_format="channels_last"), CPU).step()
    assert not any(seen[3] for seen in layer.seen)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of torch's own parts, which are loaded here for the first time
def test_a_layer_inside_torch_compile_gives_the_same_and_saves_bytes() -> None:
    case = LayerCase((4, 3, 5, 5), call="compiled")
    workload = layer_workload(nn.BatchNorm2d(3), case, CPU)
    workload.step()
    assert workload.saved_bytes > 0


@pytest.mark.parametrize(("call", "mode"), [("compiled", None), ("reduce-overhead", "reduce-overhead")])
def test_cuda_graphs_are_torch_compiles_mode_and_every_call_begins_a_step(
    call: str, mode: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str | None] = []

    def compile_layer(layer: nn.Module, *, mode: str | None) -> nn.Module:
        given.append(mode)
        return layer

    monkeypatch.setattr(torch, "compile", compile_layer)
    monkeypatch.setattr(torch.compiler, "cudagraph_mark_step_begin", lambda: given.append("step"))
    workload = layer_workload(Watched(), LayerCase((2, 6), call=call), CPU)
    before = given.count("step")
    workload.step()
    assert given[0] == mode
    assert given.count("step") - before == (1 if mode else 0)
