"""The generalized geometric median: against bisection, its identities and gradients, where plain Newton fails."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from normbench_cli.norms._ggm.median import generalized_median, median_of_columns
from normbench_cli.norms.augnorm import AugNorm
from tests.norms.gradients import grad_of

PHIS = (1.05, 1.2, 1.5, 1.75, 2.0, 3.0, 8.0)
ULP = 4 * torch.finfo(torch.float32).eps
SMALLEST = 2.0**-149  # the spacing of subnormal numbers


def bisect(x: torch.Tensor, phi: float) -> torch.Tensor:
    x = x.double()
    low, high = x.amin(0), x.amax(0)
    size = (high - low).clamp_min(1e-300)
    for _ in range(100):
        y = (low + high) / 2
        d = (x - y) / size
        pull = (d.sign() * d.abs() ** (phi - 1)).sum(0)
        low, high = torch.where(pull > 0, y, low), torch.where(pull > 0, high, y)
    return (low + high) / 2


def make(kind: str, m: int = 2048) -> torch.Tensor:
    torch.manual_seed(3)
    normal, uniform = torch.randn(m, 4), torch.rand(m, 4)
    return {
        "normal": normal,
        "relu": normal.relu(),
        "mostly zeros": (normal - 2).relu(),
        "cauchy": torch.tan(math.pi * (uniform - 0.5)),
        "log-normal": (2 * normal).exp(),
        "clusters": (uniform > 0.3).float() + 1e-3 * normal,
        "binary": (uniform > 0.3).float(),
        "constant": torch.full((m, 4), 3.3),
        "eight": normal[:8],
        "far from zero": normal + 1000,
        "huge": normal * 1e30,
        "one different": torch.where(torch.arange(m)[:, None] == 5, 1.0, 0.25).expand(m, 4),
    }[kind]


KINDS = ["normal", "relu", "mostly zeros", "cauchy", "log-normal", "clusters", "binary", "constant", "eight"]
KINDS += ["far from zero", "huge", "one different"]


def worst_error(mu: torch.Tensor, x: torch.Tensor, phi: float) -> float:
    """In standard deviations, beyond a few ulp of the largest value."""
    return worst_distance(mu, bisect(x, phi), x)


def worst_distance(mu: torch.Tensor, median: torch.Tensor, x: torch.Tensor) -> float:
    """The same where the median is known."""
    allowed = ULP * x.double().abs().amax(0) + 2 * SMALLEST
    error = (mu.double() - median).abs() - allowed
    return float((error.clamp_min(0) / x.double().std(0, correction=0).clamp_min(1e-300)).max())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("phi", PHIS)
def test_function_and_layer_find_the_minimum_on_every_kind_of_data(kind: str, phi: float) -> None:
    x = make(kind, 512)
    median = bisect(x, phi)
    assert worst_distance(generalized_median(x, phi), median, x) <= 1e-5
    layer = AugNorm(4, phi=phi, momentum=1.0, tol="exact")
    for _ in range(2):  # from a cold and from a warm start
        assert torch.isfinite(layer(x)).all()
        assert worst_distance(layer.running_mean, median, x) <= 1e-5


finite = st.floats(-1e6, 1e6, width=32) | st.sampled_from([0.0, 1.0, -1.0])
columns = st.lists(finite, min_size=1, max_size=12)


searched = given(values=columns, phi=st.sampled_from(PHIS))


@settings(max_examples=60)
@searched
def test_layer_finds_the_minimum_of_any_values(values: list[float], phi: float) -> None:
    check_layer(values, phi)


@pytest.mark.slow
@settings(max_examples=500)
@searched
def test_layer_finds_the_minimum_of_many_more_values(values: list[float], phi: float) -> None:
    check_layer(values, phi)


def check_layer(values: list[float], phi: float) -> None:
    x = torch.tensor(values)[:, None]
    layer = AugNorm(1, phi=phi, momentum=1.0, tol="exact")
    layer.start.fill_(0.7)  # a bad start must be harmless
    assert torch.isfinite(layer(x)).all()
    assert worst_error(layer.running_mean, x, phi) <= 1e-5


@settings(max_examples=60)
@given(values=columns, phi=st.floats(1.0, 16.0), shift=st.floats(-100, 100), scale=st.floats(0.01, 100))
def test_weights_sum_to_one_and_the_median_follows_shift_scale_and_order(
    values: list[float], phi: float, shift: float, scale: float
) -> None:
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    mu = generalized_median(x, phi)
    (share,) = torch.autograd.grad(mu, x)
    mu, x = mu.detach(), x.detach()
    size = float(x.abs().max()) + 1
    assert float(share.sum()) == pytest.approx(1)
    assert float((x * share).sum()) == pytest.approx(float(mu), abs=1e-9 * size)
    moved = generalized_median(x.detach() * scale + shift, phi)
    assert float(moved) == pytest.approx(float(mu) * scale + shift, abs=1e-9 * (size * scale + 100))
    assert float(generalized_median(x.detach().flip(0), phi)) == pytest.approx(float(mu), abs=1e-9 * size)


def test_known_medians() -> None:
    x = torch.tensor([1.0, 2.0, 3.0, 10.0])
    assert generalized_median(x, 1) == 2.5
    assert generalized_median(x, 2) == 4
    assert generalized_median(x, float("inf")) == 5.5
    mixed = generalized_median(x[:, None].expand(4, 3), torch.tensor([1.0, 2.0, float("inf")]))
    assert mixed.tolist() == pytest.approx([2.5, 4, 5.5])
    assert generalized_median(torch.tensor([0.0, 1.0]), 1.5) == pytest.approx(0.5)
    assert generalized_median(torch.full((3, 2), 1e-38), 1.5).tolist() == pytest.approx([1e-38] * 2, rel=1e-5)


@pytest.mark.parametrize("phi", [1.0, 1.05, 1.5, 3.0, 16.0, float("inf")])
@pytest.mark.parametrize("dim", [0, 1, (0, 2)])
def test_gradient_of_x(phi: float, dim: int | tuple[int, ...]) -> None:
    torch.manual_seed(0)
    x = torch.randn(3, 2, 4, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: generalized_median(x, phi, dim), (x,))


def test_gradient_of_phi() -> None:
    torch.manual_seed(0)
    x = torch.randn(9, 3, dtype=torch.float64, requires_grad=True)
    phi = torch.tensor([1.2, 1.5, 4.0], dtype=torch.float64, requires_grad=True)
    assert gradcheck(generalized_median, (x, phi))


@pytest.mark.parametrize("phi", [1.2, 1.5])
@pytest.mark.parametrize("values", [[-1.0, 0, 1], [-1.0, 0, 0, 1]])
def test_gradient_where_the_median_meets_values(phi: float, values: list[float]) -> None:
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: generalized_median(x, phi), (x,), atol=1e-4)
    (share,) = torch.autograd.grad(generalized_median(x, phi), x)
    hit = x == 0
    assert torch.allclose(share[hit], 1 / hit.sum().double(), atol=1e-4)


@pytest.mark.parametrize("phi", [1.0, float("inf")])
def test_tied_values_share_the_gradient(phi: float) -> None:
    x = torch.tensor([0.0, 1, 1, 1] if phi == 1 else [0.0, 0, 0.5, 2], requires_grad=True)
    generalized_median(x, phi).backward()
    assert grad_of(x).tolist() == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3] if phi == 1 else [0.25, 0.25, 0, 0.5])


@pytest.mark.parametrize(("kind", "phi"), [("mostly zeros", 1.2), ("binary", 1.2), ("clusters", 1.2)])
def test_plain_iteration_diverges_where_the_safe_search_converges(kind: str, phi: float) -> None:
    x = make(kind)
    plain = [generalized_median(x, phi, solver=f"newton:iterations={n}") for n in (4, 30)]
    assert worst_error(plain[1], x, phi) > 100 * max(worst_error(plain[0], x, phi), 0.1)
    found = median_of_columns(x, phi)
    assert found.converged.all()
    assert found.iterations.max() < 60


def test_plain_iteration_stalls_at_one_and_a_half_and_is_fine_on_smooth_data() -> None:
    plain = {kind: generalized_median(make(kind), 1.5, solver="newton:iterations=30") for kind in KINDS}
    assert worst_error(plain["mostly zeros"], make("mostly zeros"), 1.5) > 1e-3
    assert worst_error(plain["normal"], make("normal"), 1.5) < 1e-6


@pytest.mark.parametrize("bad", [0.5, 17.0, -1.0, float("nan")])
def test_phi_out_of_range_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="outside"):
        generalized_median(torch.randn(3), bad)
    with pytest.raises(ValueError, match="outside"):
        generalized_median(torch.randn(3, 2), torch.tensor([1.5, bad]))


@pytest.mark.parametrize("solver", ["quick", "newton:iterations=0", "newton:steps=3", "safe:iterations=4"])
def test_unknown_solver_is_refused(solver: str) -> None:
    with pytest.raises(ValueError, match="solver"):
        generalized_median(torch.randn(3), 1.5, solver=solver)


@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
@pytest.mark.parametrize("phi", [1.0, 1.5, 2.0, 8.0, float("inf")])
def test_a_nan_or_infinity_gives_nan_in_its_column_and_no_endless_search(broken: float, phi: float) -> None:
    x = torch.randn(20, 2)
    x[3, 1] = broken
    mu = generalized_median(x, phi)
    assert torch.isfinite(mu[0])
    assert torch.isnan(mu[1])


@pytest.mark.parametrize("shape", [(50, 3), (50, 3, 2)])
def test_a_start_of_the_search_changes_no_median(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape, dtype=torch.float64)
    found = generalized_median(x, 1.5)
    torch.testing.assert_close(generalized_median(x, 1.5, start=found + 0.3), found, rtol=0, atol=1e-10)
