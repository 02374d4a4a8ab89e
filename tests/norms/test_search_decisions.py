"""How the search for the medians goes on where its first steps were not enough, and what is compiled for that ahead."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from normbench_cli.norms._ggm import autograd, tolerant
from normbench_cli.norms._ggm.autograd import MOST_TESTS, STEPS_PER_TEST, finish_forward, solve_remaining
from normbench_cli.norms._ggm.kernels import ForwardPass, SolverOptions, forward_pass
from normbench_cli.norms._ggm.median import generalized_median
from normbench_cli.registry import NORMS
from tests.norms.exact import exact

CHANNELS = 8
NONE_LOST = torch.zeros(CHANNELS, dtype=torch.bool)


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that are called, in order, with the steps of each search."""
    names: list[str] = []

    def recorded(name: str, kernel: Any) -> Any:
        def call(*tensors: Any, **options: Any) -> Any:
            names.append(name if name != "CONTINUE" else f"{name} {options['options'].steps}")
            return kernel(*tensors, **options)

        return call

    for name in ("FORWARD", "CONTINUE", "SCALE"):
        monkeypatch.setattr(autograd, name, recorded(name, getattr(autograd, name)))
    return names


def data(channels: int = CHANNELS) -> Tensor:
    return torch.randn(64, channels, generator=torch.Generator().manual_seed(0)).exp()


def first_steps(x: Tensor, options: SolverOptions, done: int) -> ForwardPass:
    """A forward pass without a step, of which the first channels claim to be done."""
    offset, totals = torch.zeros(x.shape[1]), torch.zeros(5)
    found = ForwardPass.unflatten(forward_pass(x, None, None, None, offset, totals, options=options))
    return found._replace(state=found.state._replace(done=torch.arange(x.shape[1]) < done))


@pytest.mark.parametrize(
    ("done", "few_elements", "together"),
    [
        (8, 0, False),
        (7, 0, False),
        (6, 0, False),
        (5, 0, True),
        (0, 0, True),
        (6, 64 * 8, True),
        (6, 64 * 8 - 1, False),
    ],
)
def test_channels_are_solved_together_while_many_are_left_or_the_data_are_few(
    done: int, few_elements: int, together: bool, called: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(autograd, "FEW_ELEMENTS", few_elements)
    x, options = data(), SolverOptions(1.2, 1e-5, 0)
    found = first_steps(x, options, done)
    state, fit = solve_remaining(x, None, found, NONE_LOST, options, False)
    assert called == ([f"CONTINUE {STEPS_PER_TEST}"] * len(called))
    assert bool(called) == together
    assert len(called) <= MOST_TESTS
    assert bool(state.done.all())
    torch.testing.assert_close(fit.mu[done:], generalized_median(x, 1.2)[done:], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("done", "all_again"), [(6, False), (5, True), (0, True)])
def test_only_the_output_of_few_channels_is_computed_alone(done: int, all_again: bool, called: list[str]) -> None:
    x, options = data(), SolverOptions(1.2, 1e-5, 0)
    found = first_steps(x, options, done)
    before = found.y.clone()
    new = finish_forward(found, x, None, None, None, torch.zeros(5), options, False)
    assert ("SCALE" in called) == all_again
    expected = (x - new.fit.mu) * new.fit.scale
    expected[:, :done] = before[:, :done]
    torch.testing.assert_close(new.y, expected)
    assert int(new.solver_totals[0]) == 1


def test_what_is_done_is_left_alone(called: list[str]) -> None:
    x, options = data(), SolverOptions(1.2, 1e-5, 0)
    found = first_steps(x, options, CHANNELS)
    assert finish_forward(found, x, None, None, None, torch.zeros(5), options, False) is found
    assert called == []


@pytest.mark.parametrize(
    ("spec", "x", "compiled"),
    [
        ("augnorm", data(4), True),
        ("augnorm:phi=2.5", data(4), True),
        ("diffphi", data(4), True),
        ("augnorm", data(4).to("meta"), False),  # an accelerator makes all its steps at once
        ("augnorm:phi=2", data(4), False),  # is not searched for
        ("augnorm:phi=1", data(4), False),
        ("augnorm:phi=inf", data(4), False),
        ("augnorm:solver=newton", data(4), False),  # never goes on
        ("augnorm:phi=2,solver=newton", data(4), False),
    ],
)
def test_the_kernels_of_a_search_that_goes_on_are_compiled_ahead(
    spec: str, x: Tensor, compiled: bool, called: list[str]
) -> None:
    layer = NORMS.build(exact(spec), num_features=4).to(x.device)
    layer.compile_ahead(x)
    assert called == (["FORWARD", f"CONTINUE {STEPS_PER_TEST}", "SCALE"] if compiled else [])


@pytest.mark.parametrize(("x", "kernels"), [(data(4), ["FORWARD", "MORE", "SCALE"]), (data(4).to("meta"), [])])
def test_the_kernels_of_a_search_to_a_tolerance_are_compiled_ahead(
    x: Tensor, kernels: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []

    def recorded(name: str, kernel: Any) -> Any:
        def call(*tensors: Any, **options: Any) -> Any:
            names.append(name)
            return kernel(*tensors, **options)

        return call

    for name in ("FORWARD", "MORE", "SCALE"):
        monkeypatch.setattr(tolerant, name, recorded(name, getattr(tolerant, name)))
    NORMS.build("augnorm", num_features=4).to(x.device).compile_ahead(x)
    assert names == kernels


def test_without_values_one_pass_shows_all_shapes() -> None:
    layer = NORMS.build("augnorm", num_features=4).to("meta")
    assert layer.pass_scheduler.passes(1, layer.failures) == 1
