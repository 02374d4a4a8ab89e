"""The search for the median to a given tolerance, with a guaranteed bound on its error.

With p = phi - 1, q = |phi - 2|, d = x - y, w = |d|^(phi-2), S = sum d w, W = sum w, and N = sum w min(1, r / |d|): the
score S changes over a distance e towards the median by at least p e (W - N), as long as k e <= r, where k = q for
phi < 2 and k = max(q, 1) for phi > 2.  For phi < 2 a value at d contributes at least p e (|d| + e)^-q, which is no less
than p e w (1 - q e / |d|); for phi > 2 at least p e w (1 - k e / |d|); and none has a negative contribution.

Where phi < 2 and 2 e <= r it changes by at most p e (W + 2 q / p N): a value with |d| < 2 e contributes at most
(1 + q) / p times p e w, one further away at most 1 + 2 q e / |d| times that.

The score is monotone, so the distance to the median lies between |S| / (p (W + 2 q / p N)) and |S| / (p (W - N)), and
so does Newton's step |S| / (p W).  Nothing is assumed about the data.  Rounding adds to this: a few units in the last
place of y, and the floor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, NamedTuple

import torch
from torch import Tensor

from normbench_cli.norms._batch.reduce import materialize
from normbench_cli.norms._ggm.solver import ACCURACY, TINY, SearchState, Sums
from normbench_cli.registry.bounds import Bounds

Tolerance = Annotated[float | Literal["exact"], Bounds(least=1e-4, most=1, or_word="exact")]
TWO_SIDED_FROM = 1.4  # below, the bound from above is too wide to be useful
REACH_IN_TOLERANCES = 4.0  # times values^(1/6): the length r where both bounds are used; a step may be half of it
TRUSTED_STEP = 0.25  # standard deviations; a longer step from the previous batch's center is worse than its offset


class TargetAccuracy(NamedTuple):
    """The target accuracy of the search, (C) each unless noted."""

    distance: Tensor  # from the exact median, apart from rounding
    reach: Tensor  # the length r
    one_sided: Tensor  # the longest e for which the bound from below holds
    two_sided: Tensor  # the same for both bounds; 0 where only the bound from below is used
    floor: Tensor  # smaller distances count as this one, which moves the median by no more than it
    rounding: float  # relative spacing of floating point numbers

    def of(self, chosen: Tensor) -> TargetAccuracy:
        """The same for some of the medians."""
        distance, reach, one_sided, two_sided, floor = (t[chosen] for t in self[:5])
        return TargetAccuracy(distance, reach, one_sided, two_sided, floor, self.rounding)


def in_deviations(error: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
    """Convert an error bound to units of sd; 0 where all values are equal, since the bound is then only the floor."""
    return (error - TINY).clamp_min(0.0) / (sd + mean.abs() * ACCURACY[sd.dtype].rounding + TINY)


def in_standard_errors(distance: Tensor, values: int | Tensor) -> Tensor:
    """Convert a distance from units of sd to units of sd / sqrt(values)."""
    return distance / (torch.ones_like(distance) / values).sqrt()


def has_roots(phi: float | Tensor) -> bool:
    """Whether weights are square roots of 1 / |d|, which saves divisions and logarithms."""
    return isinstance(phi, float) and phi == 1.5


def quick_weights(distance: Tensor, phi: float | Tensor, per_unit: Tensor) -> Tensor:
    """`solver.weights` up to rounding, given 1 / unit: a product costs less than a quotient."""
    if has_roots(phi):
        return distance.rsqrt()
    return distance.mul(per_unit).log_().mul_(phi - 2).exp_()


def target_accuracy(
    mean: Tensor, sd: Tensor, floor: Tensor, phi: float | Tensor, values: int | Tensor, tol: float
) -> TargetAccuracy:
    """tol: in standard errors sd / sqrt(values); never less than the exact search reaches."""
    accuracy = ACCURACY[sd.dtype]
    standard_error = sd * (torch.ones_like(sd) / values).sqrt()
    distance = torch.maximum(torch.maximum(standard_error * tol, sd * accuracy.tolerance), floor * 2)
    power = phi.expand_as(sd) if isinstance(phi, Tensor) else torch.full_like(sd, phi)
    bend = (power - 2).abs()
    slope = torch.where(power > 2, bend.clamp_min(1.0), bend.clamp_min(1e-3))  # k
    both = (power >= TWO_SIDED_FROM) & (power <= 2)
    of_both = (torch.ones_like(sd) * values) ** (1 / 6) * REACH_IN_TOLERANCES
    reach = (distance + mean.abs() * accuracy.rounding) * torch.where(both, of_both, slope)
    one_sided, two_sided = reach / slope, torch.where(both, reach / 2, 0.0)
    return TargetAccuracy(distance, materialize(reach), one_sided, two_sided, floor, accuracy.rounding)


def certified_bound(step: Tensor, near_share: Tensor, phi: float | Tensor, target: TargetAccuracy) -> Tensor:
    """How far the end of Newton's step can be from the median; infinite where nothing is guaranteed.

    step: S / (p W); near_share: N / W
    """
    length, p = step.abs(), phi - 1
    most = length / (1 - near_share).clamp_min(1e-9)
    least = length / (1 + near_share * 2 * (1 - p) / p)
    two_sided = torch.maximum(most - length, length - least)
    both = (target.two_sided > 0) & (most <= target.two_sided)
    return torch.where(both, two_sided, torch.where(most <= target.one_sided, most, torch.inf))


def certified_step(state: SearchState, sums: Sums, phi: float | Tensor, target: TargetAccuracy) -> SearchState:
    """Narrow the bracket, then take Newton's step; bisect where it leaves the bracket or the score has not halved.

    A channel is done when the end of its step is certified to be within the target distance of the median.  Where a
    step is shorter than that but not certified, as at many equal values, the next estimate lies beyond the expected
    median, so that the bracket certifies it.
    """
    y, low, high, last_score, done, iterations, error = state
    score, weight, near, slope = sums
    step = score / (weight * (phi - 1))
    onward = step if slope is None else score / (slope * (phi - 1))
    low = torch.where(score > 0, torch.maximum(low, y), low)
    high = torch.where(score < 0, torch.minimum(high, y), high)
    rounding = y.abs() * target.rounding
    bound = torch.minimum(certified_bound(step, near / weight, phi, target), high - low) + target.floor
    finished = (bound <= target.distance + rounding) & torch.isfinite(rounding)
    newton = y + onward
    quick = (newton > low) & (newton < high) & (score.abs() <= last_score * 0.5)
    across = y + torch.sign(onward) * target.distance * 0.8
    stuck = (onward.abs() < target.distance / 4) & (across > low) & (across < high)
    next_y = torch.where(quick, newton, (low + high) / 2)
    next_y = torch.where(stuck, across, next_y)
    next_y = torch.where(finished, torch.minimum(torch.maximum(y + step, low), high), next_y)
    return SearchState(
        y=torch.where(done, y, next_y),
        low=low,
        high=high,
        last_score=torch.where(quick & ~stuck, score.abs(), torch.inf),  # after a bisection any progress counts
        done=done | finished,
        iterations=iterations + (~done).to(iterations.dtype),
        error=torch.where(done, error, (bound - rounding).clamp_min(0.0)),
    )


def certified_search(
    state: SearchState, sums: Callable[[Tensor], Sums], phi: float | Tensor, target: TargetAccuracy, steps: int
) -> SearchState:
    """Take `steps` steps, each a pass over the data; `error` is a distance, not yet in standard deviations."""
    for _ in range(steps):
        state = certified_step(state, sums(state.y), phi, target)
    return state


def start_from_center(
    center: Tensor,
    score: Tensor,
    slope: Tensor,
    phi: float | Tensor,
    floor: Tensor,
    start: SearchState,
) -> SearchState:
    """Start the search, given the sums about `center`, the previous batch's median: at the end of Newton's step from
    there, if that is short, else as in `start`.

    floor: the one used for the sums
    """
    step = score / (slope * (phi - 1))
    inside = (center > start.low) & (center < start.high) & torch.isfinite(step)
    low = torch.where(inside & (score > 0), torch.maximum(start.low, center - floor), start.low)
    high = torch.where(inside & (score < 0), torch.minimum(start.high, center + floor), start.high)
    trusted = inside & (step.abs() <= (start.high - start.low) * (TRUSTED_STEP / 2))
    y = torch.where(trusted, center + step, start.y)
    return start._replace(y=torch.minimum(torch.maximum(y, low), high), low=low, high=high)
