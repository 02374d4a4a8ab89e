"""Scaling the data scales the generalized geometric median, over the whole range of float32, in function and layers."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from normbench_cli.norms._ggm.median import generalized_median
from normbench_cli.norms._ggm.segmented import segmented_median
from normbench_cli.norms._ggm.solver import power_of_four
from normbench_cli.norms.augnorm import AugNorm
from normbench_cli.registry import NORMS
from tests.norms.exact import exact
from tests.norms.gradients import grad_of

PHIS = (1.05, 1.2, 1.5, 1.9, 3.0, 8.0)
ULP = torch.finfo(torch.float32).eps
# 2^-103 = 1e-31 times the smallest step, 2^-20, is 1e-37; 2^123 = 1e37.  Multiples of powers of two are exact.
EXPONENTS = st.integers(-103, 123)
COLUMNS = st.lists(st.integers(-(2**20), 2**20), min_size=1, max_size=12).map(
    lambda steps: torch.tensor(steps, dtype=torch.float32) * 2**-20
)


def scaled(x: Tensor, exponent: int) -> Tensor:
    """x 2^exponent, also where the power alone is out of float32's range."""
    return (x.double() * 2.0**exponent).to(x.dtype)


def assert_same_center(mu: Tensor, mu_of_scaled: Tensor, exponent: int, x: Tensor) -> None:
    """Within the accuracy promised, 1e-5 standard deviations and a few ulp of the largest value."""
    back = mu_of_scaled.double() * 2.0**-exponent
    allowed = 1e-5 * x.double().std(0, correction=0) + 4 * ULP * x.double().abs().amax(0)
    assert ((back - mu.double()).abs() <= allowed).all()


@given(x=COLUMNS, exponent=EXPONENTS, phi=st.sampled_from([1.0, *PHIS, float("inf")]))
def test_function_is_equivariant_to_scale(x: Tensor, exponent: int, phi: float) -> None:
    mu, mu_of_scaled = generalized_median(x, phi), generalized_median(scaled(x, exponent), phi)
    assert abs(float(mu_of_scaled) * 2.0**-exponent - float(mu)) <= 2 * ULP * float(x.abs().max())


@settings(max_examples=50)
@given(x=COLUMNS, exponent=st.integers(-900, 900), phi=st.sampled_from(PHIS))
def test_function_is_equivariant_to_scale_in_float64(x: Tensor, exponent: int, phi: float) -> None:
    x = x.double()
    mu, mu_of_scaled = generalized_median(x, phi), generalized_median(x * 2.0**exponent, phi)
    assert abs(float(mu_of_scaled) * 2.0**-exponent - float(mu)) <= 1e-11 * float(x.abs().max())


@pytest.mark.parametrize("exponent", [-120, -100, -60, 60, 120])
@pytest.mark.parametrize("phi", PHIS)
def test_gradients_of_the_function_do_not_depend_on_the_scale_of_x(phi: float, exponent: int) -> None:
    torch.manual_seed(0)
    x, powers = torch.randn(50, 3), torch.full((3,), phi)
    found = []
    for data in (x, scaled(x, exponent)):
        data, exponents = data.requires_grad_(), powers.clone().requires_grad_()
        found.append(torch.autograd.grad(generalized_median(data, exponents).sum(), (data, exponents)))
    (dx, dphi), (dx_of_scaled, dphi_of_scaled) = found
    torch.testing.assert_close(dx_of_scaled, dx)
    torch.testing.assert_close(dphi_of_scaled.double() * 2.0**-exponent, dphi.double(), rtol=1e-5, atol=1e-5)


scaled_layers = given(x=COLUMNS, exponent=EXPONENTS, phi=st.sampled_from([1.5, 1.9, 3.0]))


@settings(max_examples=50)
@scaled_layers
def test_layer_is_equivariant_to_scale(x: Tensor, exponent: int, phi: float) -> None:
    check_layer(x, exponent, phi)


@pytest.mark.slow
@settings(max_examples=300)
@scaled_layers
def test_layer_is_equivariant_to_many_more_scales(x: Tensor, exponent: int, phi: float) -> None:
    check_layer(x, exponent, phi)


def check_layer(x: Tensor, exponent: int, phi: float) -> None:
    centers = []
    for data in (x, scaled(x, exponent)):
        layer = AugNorm(1, phi=phi, momentum=1.0, tol="exact")
        assert torch.isfinite(layer(data[:, None])).all()
        centers.append(layer.running_mean)
    assert_same_center(centers[0], centers[1], exponent, x[:, None])


@pytest.mark.parametrize("exponent", [-120, -60, 60, 120])
def test_plain_iteration_is_equivariant_to_scale(exponent: int) -> None:
    x = torch.randn(100, 3, generator=torch.Generator().manual_seed(0))
    centers = []
    for data in (x, scaled(x, exponent)):
        layer = AugNorm(3, momentum=1.0, solver="newton:iterations=4")
        layer(data)
        centers.append(layer.running_mean)
        assert layer.solver_statistics()["iterations_max"] == 4
    assert_same_center(centers[0], centers[1], exponent, x)


@pytest.mark.parametrize("exponent", [-105, -60, 60, 120])
@pytest.mark.parametrize("spec", ["augnorm", "augnorm:phi=3", "diffphi"])
@pytest.mark.parametrize("shape", [(64, 4), (16, 4, 6, 6)])
def test_gradient_of_a_layer_does_not_depend_on_the_scale_of_x(
    spec: str, shape: tuple[int, ...], exponent: int
) -> None:
    """With eps = 0 the output is the same at any scale, and its gradient is inversely proportional to it.  2^-105 is
    2.5e-32; below, the gradient takes more values for ties (README of the package)."""
    torch.manual_seed(0)
    x, dy = torch.randn(shape), torch.randn(shape)
    found = []
    for power in (0, exponent):
        layer = NORMS.build(exact(spec), num_features=4, eps=0.0)
        data = scaled(x, power).requires_grad_()
        y = layer(data)
        y.backward(dy)
        found.append((y.detach(), grad_of(data).double() * 2.0**power, *(p.grad for p in layer.parameters())))
    for expected, of_scaled in zip(*found, strict=True):
        torch.testing.assert_close(of_scaled, expected, rtol=1e-3, atol=1e-3)


def test_channels_of_very_different_sizes_do_not_disturb_each_other() -> None:
    torch.manual_seed(0)
    x = torch.randn(200, 5)
    sizes = torch.tensor([1.0, 1e-30, 0.0, 1e30, 1e-10])
    layer, plain = (AugNorm(5, momentum=1.0, tol="exact") for _ in range(2))
    layer(x * sizes)
    plain(x)
    assert_same_center(
        plain.running_mean[[0, 1, 3, 4]], (layer.running_mean / sizes)[[0, 1, 3, 4]], 0, x[:, [0, 1, 3, 4]]
    )
    assert layer.running_mean[2] == 0
    assert layer.solver_statistics()["unconverged"] == 0


@pytest.mark.parametrize("exponent", [-120, -60, 60, 120])
@pytest.mark.parametrize("stop_early", [True, False])
@pytest.mark.parametrize("phi", PHIS)
def test_median_of_each_graph_is_equivariant_to_scale(phi: float, stop_early: bool, exponent: int) -> None:
    torch.manual_seed(0)
    x, batch = torch.randn(60, 3), torch.randint(0, 5, (60,))
    results = []
    for data in (x, scaled(x, exponent)):
        data = data.requires_grad_()
        found = segmented_median(data, phi, batch, 5, stop_early=stop_early)
        assert found.converged.all()
        results.append((found.mu.detach(), *torch.autograd.grad(found.mu.sum(), data)))
    (mu, dx), (mu_of_scaled, dx_of_scaled) = results
    torch.testing.assert_close(mu_of_scaled.double() * 2.0**-exponent, mu.double(), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(dx_of_scaled, dx, rtol=1e-3, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("exponent", [-105, 120])
@pytest.mark.parametrize("spec", ["augnorm", "diffphi"])
def test_compiled_layers_are_equivariant_to_scale(spec: str, exponent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORMBENCH_COMPILE", "always")
    test_gradient_of_a_layer_does_not_depend_on_the_scale_of_x(spec, (16, 4, 6, 6), exponent)


def test_subnormal_values_lose_the_digits_that_they_lack_and_no_more() -> None:
    torch.manual_seed(0)
    x, spacing = torch.randn(64, 4) * 1e-41, 1.4e-45
    layer = AugNorm(4, momentum=1.0, tol="exact")
    layer(x)
    exact = generalized_median(x.double(), 1.5)
    for mu in (generalized_median(x, 1.5), layer.running_mean):
        assert ((mu.double() - exact).abs() <= spacing).all()


@given(exponent=st.integers(-126, 127))
def test_the_scale_is_an_exact_power_of_four_and_one_for_ordinary_sizes(exponent: int) -> None:
    size = torch.tensor([1.0, 1.37, 1.99]) * torch.tensor(2.0**exponent)
    scale = power_of_four(size)
    mantissa, power = torch.frexp(scale)
    assert (mantissa == 0.5).all()
    assert ((power - 1) % 2 == 0).all()
    if abs(exponent) < 40:
        assert (scale == 1).all()
    elif abs(exponent) > 40:
        assert ((size * scale >= 0.25) & (size * scale <= 4)).all()


def test_zero_and_broken_sizes_are_not_scaled() -> None:
    assert (power_of_four(torch.tensor([0.0, torch.inf, torch.nan])) == 1).all()
