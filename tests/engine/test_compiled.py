"""The compiled model: called for whole training batches alone, equal to the uncompiled one, and dispensable."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from normbench_cli.engine.compiled import Compiled

Graph = Callable[..., Any]


def model() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))


class CountingBackend:
    """A backend of torch.compile that counts compilations and runs the graph uncompiled."""

    def __init__(self) -> None:
        self.compilations = 0
        torch.compiler.reset()

    def __call__(self, graph: Graph, inputs: list[Tensor]) -> Graph:
        self.compilations += 1
        return graph


def test_whole_training_batches_are_compiled_once_and_nothing_else_is() -> None:
    backend = CountingBackend()
    plain, compiled = model(), Compiled(model(), (8, 3), backend)
    batch, rest = torch.randn(8, 3), torch.randn(5, 3)
    for inputs in (batch, rest, batch):
        torch.testing.assert_close(compiled(inputs), plain(inputs))
    compiled.model.eval()
    torch.testing.assert_close(compiled(batch), plain.eval()(batch))
    assert backend.compilations == 1


def test_cuda_graphs_are_asked_for_by_their_mode_and_told_where_each_step_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[Any] = []

    def compile_model(model: nn.Module, *, mode: str | None, **options: Any) -> nn.Module:
        given.append(mode)
        return model

    monkeypatch.setattr(torch, "compile", compile_model)
    monkeypatch.setattr(torch.compiler, "cudagraph_mark_step_begin", lambda: given.append("step"))
    for mode in ("default", "reduce-overhead"):
        compiled = Compiled(model(), (8, 3), mode=mode)
        for _ in range(2):
            compiled(torch.randn(8, 3))
        compiled(torch.randn(5, 3))
    assert given == [None, "step", "reduce-overhead", "step"]


def test_every_run_of_a_long_grid_is_compiled() -> None:
    backend = CountingBackend()
    for _ in range(10):  # torch by itself stops at eight
        Compiled(model(), (8, 3), backend)(torch.randn(8, 3))
    assert backend.compilations == 10


def test_gradients_reach_the_model() -> None:
    compiled = Compiled(model(), (8, 3), CountingBackend())
    compiled(torch.randn(8, 3)).sum().backward()
    assert all(p.grad is not None for p in compiled.model.parameters())


def test_if_the_compiler_fails_the_model_runs_uncompiled_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    def broken(graph: Graph, inputs: list[Tensor]) -> Graph:
        raise RuntimeError("no compiler here")

    torch.compiler.reset()
    plain, compiled = model(), Compiled(model(), (8, 3), broken)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            inputs = torch.randn(8, 3)
            torch.testing.assert_close(compiled(inputs), plain(inputs))
    assert caplog.text.count("the model runs uncompiled") == 1


def test_an_error_of_the_model_itself_is_not_hidden() -> None:
    class Faulty(nn.Module):
        def forward(self, x: Tensor) -> None:
            raise ValueError("wrong size")

    with pytest.raises(ValueError, match="wrong size"):
        Compiled(Faulty(), (8, 3), "eager")(torch.randn(8, 3))


def test_a_pass_without_gradients_is_not_compiled_even_in_training_mode() -> None:
    backend = CountingBackend()
    compiled = Compiled(model(), (8, 3), backend)
    with torch.no_grad():
        compiled(torch.randn(8, 3))
    assert backend.compilations == 0
    compiled(torch.randn(8, 3))
    assert backend.compilations == 1
