"""The objectives' defaults, the edges of their parameters, and how many losses they count or leave out."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from normbench_cli.errors import UsageError
from normbench_cli.objectives import OBJECTIVES
from normbench_cli.objectives.protocols import LeavesOut

DEFAULTS: dict[str, dict[str, float]] = {
    "chi2": {"alpha": 0.25},
    "chi2_doro": {"alpha": 0.25, "eps": 0.01},
    "cvar": {"alpha": 0.1},
    "cvar_doro": {"alpha": 0.2, "eps": 0.005},
    "erm": {},
}
WITH_ALPHA = [name for name, found in DEFAULTS.items() if "alpha" in found]
WITH_EPS = [name for name, found in DEFAULTS.items() if "eps" in found]


def weights_of(name: str, losses: list[float], **options: float) -> list[float]:
    """What each loss counts, in order."""
    leaf = torch.tensor(losses, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(OBJECTIVES.build(name, **options)(leaf), leaf)
    found: list[float] = slope.tolist()
    return found


@pytest.mark.parametrize("name", OBJECTIVES.choices())
def test_every_objective_has_its_documented_defaults_and_shows_its_parameters(name: str) -> None:
    assert {key: found.default for key, found in OBJECTIVES.entries[name].parameters.items()} == DEFAULTS[name]
    objective: Any = OBJECTIVES.build(name)
    for key, value in DEFAULTS[name].items():
        assert getattr(objective, key) == value
        assert f"{key}={value:g}" in repr(objective)


@pytest.mark.parametrize("name", OBJECTIVES.choices())
def test_only_objectives_that_drop_losses_say_so(name: str) -> None:
    assert isinstance(OBJECTIVES.build(name), LeavesOut) == (name in WITH_EPS)


@pytest.mark.parametrize("name", WITH_ALPHA)
def test_alpha_is_above_0_and_at_most_1(name: str) -> None:
    for alpha in (1e-6, 1.0):
        assert OBJECTIVES.build(name, alpha=alpha).alpha == alpha
    for alpha in (0.0, -0.1, 1.0 + 1e-9, float("nan")):
        with pytest.raises(UsageError, match=r"alpha is .*above 0 and at most 1"):
            OBJECTIVES.build(name, alpha=alpha)


@pytest.mark.parametrize("name", WITH_EPS)
def test_eps_is_at_least_0_and_below_1(name: str) -> None:
    for eps in (0.0, 0.999):
        assert OBJECTIVES.build(name, eps=eps).eps == eps
    for eps in (-1e-9, 1.0, float("nan")):
        with pytest.raises(UsageError, match=r"eps is .*0 or more and below 1"):
            OBJECTIVES.build(name, eps=eps)


@pytest.mark.parametrize(("alpha", "counted"), [(0.05, 1), (0.1, 1), (0.29, 2), (0.3, 3), (0.75, 7), (1.0, 10)])
def test_cvar_counts_the_whole_part_of_alpha_b_and_at_least_one(alpha: float, counted: int) -> None:
    expected = [0.0] * (10 - counted) + [1 / counted] * counted
    assert weights_of("cvar", [float(i) for i in range(10)], alpha=alpha) == pytest.approx(expected)


@pytest.mark.parametrize(("eps", "dropped"), [(0.0, 0), (0.09, 0), (0.1, 1), (0.25, 2), (0.85, 8), (0.99, 9)])
@pytest.mark.parametrize("name", WITH_EPS)
def test_the_largest_losses_are_dropped_but_never_all(name: str, eps: float, dropped: int) -> None:
    weights = weights_of(name, [float(i) for i in range(10)], alpha=1.0, eps=eps)
    kept = 10 - dropped
    assert weights == pytest.approx([1 / kept] * kept + [0.0] * dropped)
    assert weights_of(name, [2.0], alpha=1.0, eps=0.99) == [1.0]


@pytest.mark.parametrize(
    ("alpha", "eps", "weights"),
    [
        (0.5, 0.2, [0, 0, 0, 0, 1, 1, 1, 1, 0, 0]),  # n1 = 6, n2 = 2, divisor 0.5 * 8 = 4
        (0.3, 0.1, [0, 0, 0, 0, 0, 0, 0, 1, 1, 0]),  # n1 = int(3.7), n2 = 1, divisor 2.7
        (0.05, 0.1, [0, 0, 0, 0, 0, 0, 0, 0, 1, 0]),  # n1 = n2 = 1: the largest that is left, alone
        (0.39, 0.0, [0, 0, 0, 0, 0, 0, 0, 1, 1, 1]),  # nothing dropped: the mean of those counted
    ],
)
def test_cvar_doro_divides_by_alpha_times_the_losses_left(alpha: float, eps: float, weights: list[int]) -> None:
    divisor = {0.5: 4.0, 0.3: 2.7, 0.05: 1.0, 0.39: 3.0}[alpha]
    found = weights_of("cvar_doro", [float(i) for i in range(10)], alpha=alpha, eps=eps)
    assert found == pytest.approx([weight / divisor for weight in weights])


@pytest.mark.parametrize("name", OBJECTIVES.choices())
def test_the_order_of_the_examples_does_not_matter(name: str) -> None:
    losses = [3.0, 0.5, 2.0, 9.0, 1.0, 4.0, 0.1, 7.0]
    ordered = weights_of(name, sorted(losses))
    assert [w for _, w in sorted(zip(losses, weights_of(name, losses), strict=True))] == pytest.approx(ordered)
