"""Decisions that depend on a batch's shape alone, at their edges: what is compiled, and how many steps a search makes
before its first convergence test."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from normbench_cli.norms._batch import batch_norm_operators
from normbench_cli.norms._batch.batch_norm_operators import has_batch_norm_operators
from normbench_cli.norms._compile import InductorKernel
from normbench_cli.norms._compile_policy import LARGE, LARGE_MATRIX, SEARCHED_MATRIX, should_compile
from normbench_cli.norms.augnorm import FEW_VALUES, LOW_PHI, STEPS_UNCHECKED, STEPS_UNCHECKED_LOW_PHI
from normbench_cli.registry import NORMS
from tests.norms.exact import exact


def of_shape(*shape: int) -> Tensor:
    """A tensor that takes no memory."""
    return torch.empty(1).expand(shape)


@pytest.fixture(autouse=True)
def every_fast_path_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("normbench_cli.fast_paths._outcomes", {})
    monkeypatch.delenv("NORMBENCH_COMPILE", raising=False)


@pytest.mark.parametrize(
    ("x", "dynamic_rows", "expected"),
    [
        (of_shape(LARGE // 4, 4), False, True),
        (of_shape(LARGE // 4 - 1, 4), False, False),
        (of_shape(LARGE_MATRIX // 4, 4), True, True),
        (of_shape(LARGE_MATRIX // 4 - 1, 4), True, False),
        (of_shape(LARGE_MATRIX // 4, 4, 1), True, False),  # only a matrix has rows to leave open
        (of_shape(LARGE // 4, 4, 1), True, True),
    ],
)
def test_large_batches_are_worth_compiling(
    x: Tensor, dynamic_rows: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert should_compile(x, dynamic_rows) == expected
    for policy in ("always", "never"):
        monkeypatch.setenv("NORMBENCH_COMPILE", policy)
        assert should_compile(x, dynamic_rows) == (policy == "always")


def test_searches_are_compiled_for_smaller_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = list[int]()

    def compile_it(kernel: InductorKernel, tensors: tuple[Tensor], *_: Any) -> Any:
        compiled.append(len(tensors[0]))
        return kernel.function

    monkeypatch.setattr(InductorKernel, "_compile", compile_it)
    search, other = InductorKernel(torch.sum, SEARCHED_MATRIX), InductorKernel(torch.sum)
    for kernel in (search, other):
        for rows in (SEARCHED_MATRIX // 4 - 1, SEARCHED_MATRIX // 4):
            kernel(torch.ones(rows, 4), dynamic_rows=True)
    assert compiled == [SEARCHED_MATRIX // 4]


def test_torchs_batch_norm_operators_pass_their_trial() -> None:
    assert has_batch_norm_operators(torch.device("cpu"))


@pytest.mark.parametrize("number", [0, 1])
def test_wrong_values_of_an_operator_fail_the_trial(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    name = ("batch_norm_statistics", "batch_norm_backward")[number]
    right = getattr(batch_norm_operators, name)
    monkeypatch.setattr(batch_norm_operators, name, lambda *args: [1.01 * t for t in right(*args)])
    assert not has_batch_norm_operators(torch.device("cpu"))


@pytest.mark.parametrize(
    ("spec", "x", "steps"),
    [
        ("augnorm", of_shape(FEW_VALUES - 1, 4), 3),
        ("augnorm", of_shape(FEW_VALUES, 4), 2),
        ("augnorm", of_shape(FEW_VALUES // 8, 4, 8), 2),
        ("diffphi", of_shape(FEW_VALUES - 1, 4), 3),
        ("diffphi", of_shape(FEW_VALUES, 4), 2),
        ("augnorm", of_shape(8, 4).to("meta"), STEPS_UNCHECKED),
        ("diffphi", of_shape(8, 4).to("meta"), STEPS_UNCHECKED),
        (f"augnorm:phi={LOW_PHI}", of_shape(8, 4).to("meta"), STEPS_UNCHECKED),
        (f"augnorm:phi={LOW_PHI - 0.01}", of_shape(8, 4).to("meta"), STEPS_UNCHECKED_LOW_PHI),
        ("augnorm:solver=newton:iterations=7", of_shape(8, 4), 7),
        ("augnorm:solver=newton", of_shape(8, 4).to("meta"), 4),
    ],
)
def test_steps_before_the_first_convergence_test(spec: str, x: Tensor, steps: int) -> None:
    options = NORMS.build(exact(spec), num_features=4).solver_options(x)
    assert (options.steps, options.plain) == (steps, "newton" in spec)


@pytest.mark.parametrize(
    ("spec", "above"),
    [
        ("augnorm:phi=2", False),
        ("augnorm:phi=2.1", True),
        ("augnorm:phi=2.1,solver=newton", True),
        ("diffphi", False),
        ("diffphi:high=2.1", True),
    ],
)
def test_the_solver_is_told_of_a_phi_above_two(spec: str, above: bool) -> None:
    layer: Any = NORMS.build(f"{spec}{',' if ':' in spec else ':'}eps=0.25", num_features=4)
    options = layer.solver_options(of_shape(8, 4))
    assert (options.above_two, options.eps, options.phi) == (above, 0.25, layer.fixed_phi)
