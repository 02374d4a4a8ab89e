"""Roots, reciprocals, logarithms and exponentials of a few units in the last place, and when inductor writes them."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._inductor import config
from torch._inductor.codegen.cpp import CppVecOverrides

from normbench_cli import fast_paths
from normbench_cli.norms import _quick_functions
from normbench_cli.norms._quick_functions import EXP2, FUNCTIONS, LOG, PATH, QuickKernel, _in_use, processor_has_them

needs_avx512 = pytest.mark.skipif(not processor_has_them(), reason="this processor has no AVX-512")


def value(coefficients: tuple[float, ...], t: Tensor) -> Tensor:
    return sum((c * t**k for k, c in enumerate(coefficients)), start=torch.zeros_like(t))


def test_the_polynomials_are_as_near_as_float32_can_be() -> None:
    t = torch.linspace(-0.25, 0.5, 1001, dtype=torch.float64)
    assert (value(LOG, t) * t - t.log1p()).abs().max() < 1e-7
    t = torch.linspace(-0.5, 0.5, 1001, dtype=torch.float64)
    assert (value(EXP2, t) - 2.0**t).abs().max() < 2e-7


def test_inductor_has_its_own_functions_again_afterwards() -> None:
    own = {name: vars(CppVecOverrides)[name] for name in FUNCTIONS}
    before = config.post_grad_custom_post_pass
    with _in_use():
        assert not any(vars(CppVecOverrides)[name] is own[name] for name in FUNCTIONS)
        marker: Any = config.post_grad_custom_post_pass
        assert FUNCTIONS["log"] in marker.uuid()  # a kernel on disk has a key of its own
    assert {name: vars(CppVecOverrides)[name] for name in FUNCTIONS} == own
    assert config.post_grad_custom_post_pass is before


@pytest.fixture
def outcomes(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("NORMBENCH_COMPILE", "always")
    monkeypatch.setattr(fast_paths, "_outcomes", {})
    return fast_paths._outcomes


def powers(x: Tensor, *, power: float) -> tuple[Tensor, ...]:
    return x.rsqrt(), x.reciprocal(), x.log(), (x.log() * power).exp(), x.sqrt().exp()


@needs_avx512
@pytest.mark.slow
def test_they_are_right_to_a_few_units_in_the_last_place_everywhere(outcomes: dict[str, str]) -> None:
    size = torch.linspace(math.log(1e-37), math.log(1e37), 100_000).double().exp().float()
    special = torch.tensor([0.0, torch.inf, torch.nan, -1.0, 1.0, 0.75, 1.5])
    x = torch.cat([size, special])
    for found, expected in zip(QuickKernel(powers)(x, power=-0.8), powers(x.double(), power=-0.8), strict=True):
        torch.testing.assert_close(found, expected.float(), rtol=1e-5, atol=1e-6, equal_nan=True)
        near_one = (size > 1e-3) & (size < 1e3)
        torch.testing.assert_close(
            found[: len(size)][near_one], expected[: len(size)][near_one].float(), rtol=2e-6, atol=2e-7
        )
    assert not any(outcomes.values())


@pytest.mark.slow
def test_where_the_trial_fails_kernels_have_inductors_own_functions(
    outcomes: dict[str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_quick_functions, "processor_has_them", lambda: True)
    monkeypatch.setitem(FUNCTIONS, "exp", "no C++")
    x = torch.linspace(0.5, 2, 64)
    for found, expected in zip(QuickKernel(powers)(x, power=0.5), powers(x, power=0.5), strict=True):
        torch.testing.assert_close(found, expected)
    assert PATH in caplog.text
    assert list(filter(None, outcomes.values())) == [outcomes[PATH]]
