"""The objectives against independent references, at their limits, and where a gradient could vanish."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from normbench_cli.errors import UsageError
from normbench_cli.objectives import OBJECTIVES

ROBUST = [name for name in OBJECTIVES.choices() if name != "erm"]
ALPHAS = (0.03, 0.1, 0.2, 0.25, 0.5, 0.9, 1.0)


def losses_of(case: int) -> torch.Tensor:
    """2 to 1000 random losses, in every third case with ties, in every fifth with outliers."""
    draw = torch.Generator().manual_seed(case)
    size = (2, 3, 1000)[case] if case < 3 else int(torch.randint(2, 1001, (), generator=draw))
    losses = torch.randn(size, dtype=torch.float64, generator=draw).exp()
    if case % 3 == 0:
        losses = (losses * 4).round() / 4
    if case % 5 == 0:
        losses[torch.randint(size, (1 + size // 100,), generator=draw)] = 100.0
    return losses


def value_and_gradient(spec: str, losses: torch.Tensor) -> tuple[float, np.ndarray]:
    leaf = losses.clone().requires_grad_()
    value = OBJECTIVES.build(spec)(leaf)
    value.backward()
    assert leaf.grad is not None
    return value.item(), leaf.grad.numpy()


def cvar_by_sorting(losses: np.ndarray, alpha: float, eps: float | None = None) -> tuple[float, np.ndarray]:
    order = np.argsort(-losses, kind="stable")
    n, gradient = len(losses), np.zeros(len(losses))
    if eps:
        last, first = n if alpha == 1 else int((eps + alpha * (1 - eps)) * n), int(eps * n)
        divisor = alpha * (n - first) if last > first else 1
    else:
        last, first = int(alpha * n), 0
        divisor = max(last, 1)
    gradient[order[first : max(last, first + 1)]] = 1 / divisor
    return float(gradient @ losses), gradient


def chi2_by_search(losses: np.ndarray, alpha: float) -> tuple[float, np.ndarray]:
    """A grid over eta, refined around its best point until it is exact; the gradient is computed from the last eta."""
    if alpha == 1:
        return losses.mean(), np.full(len(losses), 1 / len(losses))
    c = math.hypot(1, 1 / alpha - 1)
    low, high = losses.max() - 50 * (np.ptp(losses) + 1), losses.max()
    for _ in range(16):
        grid = np.linspace(low, high, 41)
        values = c * np.sqrt((np.clip(losses - grid[:, None], 0, None) ** 2).mean(1)) + grid
        best = int(values.argmin())
        low, high = grid[max(best - 2, 0)], grid[min(best + 2, 40)]
    above = np.clip(losses - grid[best], 0, None)
    flat = above.max() < 1e-9  # eta is the largest loss: equal weights for the losses that attain it
    gradient = np.isclose(losses, losses.max(), atol=1e-12) * 1.0 if flat else above
    return float(values[best]), gradient / gradient.sum()


def without_outliers(losses: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray]:
    kept = np.argsort(-losses, kind="stable")[int(eps * len(losses)) :]
    return losses[kept], kept


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_values_and_gradients_equal_independent_references(first: int) -> None:
    for case in range(first, first + 50):
        losses = losses_of(case)
        numbers, alpha, eps = losses.numpy(), ALPHAS[case % 7], (0.005, 0.02, 0.1, 0.4)[case % 4]
        inner, kept = without_outliers(numbers, eps)
        inner_value, inner_gradient = chi2_by_search(inner, alpha)
        gradient = np.zeros(len(numbers))
        gradient[kept] = inner_gradient
        references = {
            f"cvar:alpha={alpha}": cvar_by_sorting(numbers, alpha),
            f"cvar_doro:alpha={alpha},eps={eps}": cvar_by_sorting(numbers, alpha, eps),
            f"chi2:alpha={alpha}": chi2_by_search(numbers, alpha),
            f"chi2_doro:alpha={alpha},eps={eps}": (inner_value, gradient),
        }
        for spec, (value, slope) in references.items():
            got, got_slope = value_and_gradient(spec, losses)
            assert got == pytest.approx(value, abs=1e-6), (case, spec)
            np.testing.assert_allclose(got_slope, slope, atol=1e-6, err_msg=f"{case} {spec}")


def test_the_number_of_losses_and_the_divisor_are_those_of_the_reference_code() -> None:
    losses = torch.arange(400.0, dtype=torch.float64)
    for batch, count, divisor in ((400, 79, 79.6), (370, 74, 73.8)):
        _, slope = value_and_gradient("cvar_doro:alpha=0.2,eps=0.005", losses[:batch])
        assert ((slope > 0).sum(), slope.max()) == (count, pytest.approx(1 / divisor))


@pytest.mark.parametrize("name", ROBUST)
def test_alpha_1_without_outliers_is_the_mean(name: str) -> None:
    no_outliers = ",eps=0" if name.endswith("doro") else ""
    for case in range(20):
        losses = losses_of(case)
        value, slope = value_and_gradient(f"{name}:alpha=1{no_outliers}", losses)
        assert value == pytest.approx(losses.mean().item(), rel=1e-12)
        np.testing.assert_allclose(slope, 1 / len(losses), rtol=1e-9)


@pytest.mark.parametrize("name", ["cvar", "chi2"])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_eps_0_drops_nothing(name: str, alpha: float) -> None:
    losses = losses_of(12)
    plain = value_and_gradient(f"{name}:alpha={alpha}", losses)
    doro = value_and_gradient(f"{name}_doro:alpha={alpha},eps=0", losses)
    assert plain[0] == doro[0]
    np.testing.assert_array_equal(plain[1], doro[1])


some_losses = st.lists(st.floats(0, 100, allow_subnormal=False), min_size=2, max_size=60)


@given(some_losses, st.sampled_from(["cvar", "chi2", "chi2_doro:eps=0.1"]))
@settings(max_examples=60)
def test_a_smaller_alpha_gives_a_larger_value_between_mean_and_maximum(numbers: list[float], name: str) -> None:
    losses = torch.tensor(numbers, dtype=torch.float64)
    values = [OBJECTIVES.build(name, alpha=alpha)(losses).item() for alpha in ALPHAS]
    assert all(a >= b - 1e-6 for a, b in pairwise(values))
    assert values[0] <= max(numbers) + 1e-6
    assert values[-1] <= losses.mean().item() + 1e-6


def test_cvar_doro_is_monotone_where_no_size_is_rounded() -> None:
    losses = losses_of(7).repeat(100)[:1000]
    values = [OBJECTIVES.build("cvar_doro", alpha=a / 99, eps=0.01)(losses).item() for a in (11, 22, 33, 66, 99)]
    assert values == sorted(values, reverse=True)


@given(some_losses, st.sampled_from(ROBUST), st.floats(1e-3, 1), st.booleans())
@settings(max_examples=120)
def test_gradients_are_weights_and_never_vanish(numbers: list[float], name: str, alpha: float, single: bool) -> None:
    losses = torch.tensor(numbers, dtype=torch.float32 if single else torch.float64)
    value, slope = value_and_gradient(f"{name}:alpha={alpha}", losses)
    assert (slope >= 0).all()
    assert slope.sum() > 0.4 if name == "cvar_doro" else slope.sum() == pytest.approx(1, abs=1e-5)
    assert value == pytest.approx(float(slope.astype(float) @ np.array(numbers)), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("name", ROBUST)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 9, 64])
@pytest.mark.parametrize("loss", [2.5, 21.364075370580856, 0.0])  # three times the second is not exact
def test_equal_losses_give_their_value_and_a_gradient(name: str, size: int, loss: float) -> None:
    value, slope = value_and_gradient(name, torch.full((size,), loss, dtype=torch.float64))
    assert slope.sum() > 0.4 if name == "cvar_doro" else slope.sum() == pytest.approx(1)
    assert value == pytest.approx(loss * slope.sum())
    if name.startswith("chi2"):
        assert np.ptp(slope) == 0


def test_the_example_of_the_chi_square_weights_holds() -> None:
    """As the docstring of `chi2_weights` computes it."""
    _, slope = value_and_gradient("chi2:alpha=0.5", torch.tensor([3.0, 1.0, 0.0], dtype=torch.float64))
    np.testing.assert_allclose(slope, [(1 + 3**-0.5) / 2, (1 - 3**-0.5) / 2, 0], atol=1e-12)


@pytest.mark.parametrize("name", ["chi2", "chi2_doro"])
def test_a_batch_smaller_than_c_squared_learns_from_its_largest_losses(name: str) -> None:
    value, slope = value_and_gradient(name, torch.tensor([0.1, 3.0, 0.2, 3.0, 1.0]))
    assert value == pytest.approx(3)
    np.testing.assert_allclose(slope, [0, 0.5, 0, 0.5, 0], atol=1e-7)


def test_single_precision_agrees_with_double() -> None:
    for case in range(200):
        losses, alpha = losses_of(case), (*ALPHAS, 0.999)[case % 8]
        exact = OBJECTIVES.build("chi2", alpha=alpha)(losses)
        assert OBJECTIVES.build("chi2", alpha=alpha)(losses.float()).item() == pytest.approx(exact.item(), rel=2e-6)


@pytest.mark.parametrize("name", OBJECTIVES.choices())
def test_an_objective_never_waits_for_the_device(name: str) -> None:
    assert OBJECTIVES.build(name)(torch.empty(64, device="meta")).shape == ()


@pytest.mark.parametrize("name", ROBUST)
@pytest.mark.parametrize("params", [{"alpha": 0.0}, {"alpha": 1.5}, {"alpha": math.nan}])
def test_an_invalid_alpha_is_refused_in_one_sentence(name: str, params: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=r"alpha is .*; give"):
        OBJECTIVES.build(name, **params)


@pytest.mark.parametrize("eps", [-0.1, 1.0])
def test_an_invalid_eps_is_refused_in_one_sentence(eps: float) -> None:
    with pytest.raises(UsageError, match=r"eps is .*; give"):
        OBJECTIVES.build("chi2_doro", eps=eps)


@pytest.mark.parametrize("name", ROBUST)
@pytest.mark.parametrize("shape", [(0,), (3, 2), ()])
def test_losses_must_be_one_an_example(name: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="one loss an example"):
        OBJECTIVES.build(name)(torch.zeros(shape))
