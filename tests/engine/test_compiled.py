"""The compiled model: used for whole training batches alone, equal to the model as it is, and done without."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from normbench_cli.engine.compiled import Compiled


def model() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))


@pytest.fixture
def counted() -> tuple[Callable[..., Any], list[Any]]:
    """A backend that counts its compilations and runs the graph as it is."""
    graphs = []

    def backend(graph: Any, inputs: list[Any]) -> Callable[..., Any]:
        graphs.append(graph)
        return graph.forward

    torch.compiler.reset()
    return backend, graphs


def test_whole_training_batches_are_compiled_once_and_nothing_else_is(
    counted: tuple[Callable[..., Any], list[Any]],
) -> None:
    backend, graphs = counted
    plain, compiled = model(), Compiled(model(), (8, 3), backend)
    batch, rest = torch.randn(8, 3), torch.randn(5, 3)
    for inputs in (batch, rest, batch):
        torch.testing.assert_close(compiled(inputs), plain(inputs))
    compiled.model.eval()
    torch.testing.assert_close(compiled(batch), plain.eval()(batch))
    assert len(graphs) == 1


def test_every_run_of_a_long_grid_is_compiled(counted: tuple[Callable[..., Any], list[Any]]) -> None:
    backend, graphs = counted
    for _ in range(10):  # torch by itself stops at eight
        Compiled(model(), (8, 3), backend)(torch.randn(8, 3))
    assert len(graphs) == 10


def test_gradients_reach_the_model(counted: tuple[Callable[..., Any], list[Any]]) -> None:
    compiled = Compiled(model(), (8, 3), counted[0])
    compiled(torch.randn(8, 3)).sum().backward()
    assert all(p.grad is not None for p in compiled.model.parameters())


def test_a_compiler_that_fails_is_done_without_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    def broken(graph: Any, inputs: list[Any]) -> None:
        raise RuntimeError("no compiler here")

    torch.compiler.reset()
    plain, compiled = model(), Compiled(model(), (8, 3), broken)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            inputs = torch.randn(8, 3)
            torch.testing.assert_close(compiled(inputs), plain(inputs))
    assert caplog.text.count("the model runs uncompiled") == 1


def test_a_fault_of_the_model_itself_is_not_hidden() -> None:
    class Faulty(nn.Module):
        def forward(self, x: Tensor) -> None:
            raise ValueError("wrong size")

    with pytest.raises(ValueError, match="wrong size"):
        Compiled(Faulty(), (8, 3), "eager")(torch.randn(8, 3))
