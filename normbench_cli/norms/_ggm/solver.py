"""The search for the generalized geometric median, for one channel or thousands at once: Newton inside a bracket.

The caller supplies the sums over its data (`Sums`), so dense, compiled and segmented data share one search.  Tensors
have one element per channel (`segmented.py`: per segment and channel) unless a shape is given.  `stop_early` syncs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from normbench_cli.norms._batch.layout import per_channel
from normbench_cli.norms._batch.reduce import materialize, sum_chunks

REACH = 3e-4  # the longest last step, in standard deviations; the exact search measures `Sums.near` over this length
MAX_STEPS = 80  # bisection alone needs 40 for the last digit of float64
TINY = 1e-30  # the smallest floor and unit: a channel without spread must not divide by zero


class Sums(NamedTuple):
    """Over a channel's data, with d = x - y and w = max(|d|, floor)^(phi-2)."""

    score: Tensor  # sum d w: its sign shows on which side of y the median lies
    weight: Tensor  # sum w
    near: Tensor  # sum w min(1, reach / |d|): the part of the weight that may change within the reach
    slope: Tensor | None = None  # the weight averaged over a short distance; None: use the weight


class SearchState(NamedTuple):
    """The state of the search."""

    y: Tensor  # the current estimate
    low: Tensor  # the bracket: low <= mu <= high
    high: Tensor
    last_score: Tensor  # |score| before the last Newton step; infinite after a bisection
    done: Tensor  # bool: converged, y stays as it is
    iterations: Tensor  # steps until done, in the dtype of y
    error: Tensor  # bound on |y - mu| / sd; infinite before the first step


class Accuracy(NamedTuple):
    """The accuracy of the search, in standard deviations of the channel."""

    tolerance: float  # distance from the exact median
    floor: float  # smallest |x - y| that counts as different from 0
    rounding: float  # relative spacing of floating point numbers


# The floor bounds the weights where values coincide with the median (tied values then share the gradient), and moves
# the median by no more than about its own size.
ACCURACY = {
    torch.float64: Accuracy(1e-12, 1e-12, 4.5e-16),
    torch.float32: Accuracy(6e-6, 1e-6, 2.4e-7),
}


class MedianResult(NamedTuple):
    """The medians, and how they were found."""

    mu: Tensor
    iterations: Tensor
    converged: Tensor  # bool
    error: Tensor  # bound on the error of mu, in standard deviations


def weights(distance: Tensor, phi: float | Tensor, unit: Tensor) -> Tensor:
    """(distance / unit)^(phi-2), one power per element; for phi = 1.5 a reciprocal square root, without the unit.

    Weights are only ever used relative to each other, so any unit will do; one of the size of the distances keeps the
    power from overflowing.
    """
    if isinstance(phi, float) and phi == 1.5:
        return distance.rsqrt()
    return distance.div(unit).log_().mul_(phi - 2).exp_()


def start_search(start: Tensor, low: Tensor, high: Tensor, done: Tensor | None = None) -> SearchState:
    y = torch.minimum(torch.maximum(start, low), high)
    infinite, zero = torch.full_like(y, torch.inf), torch.zeros_like(y)
    not_done = torch.zeros_like(y, dtype=torch.bool)
    return SearchState(y, low, high, infinite, not_done if done is None else done, zero, infinite)


def search_step(state: SearchState, sums: Sums, phi: float | Tensor, sd: Tensor, accuracy: Accuracy) -> SearchState:
    """Narrow the bracket, then take Newton's step, or bisect where Newton leaves the bracket or converges slowly.

    A channel is done when the step it takes ends within the tolerance.  Newton's error after a step s comes from the
    weights that change along the way: about |s| q / (1 - q), where q is the fraction of the weight that lies near.  A
    short step alone is no evidence, because one value close to y makes every step short.
    """
    y, low, high, last_score, done, iterations, error = state
    score, weight, near = sums[:3]
    step = score / (weight * (phi - 1))
    low = torch.where(score > 0, torch.maximum(low, y), low)
    high = torch.where(score < 0, torch.minimum(high, y), high)
    limit = sd * accuracy.tolerance + y.abs() * accuracy.rounding
    bend: float | Tensor = (phi - 2).abs() if isinstance(phi, Tensor) else abs(phi - 2)
    change = near / weight * (bend + 0.5)
    bound = step.abs() * (change / (1 - change).clamp_min(1e-9)).clamp_max(3.0)
    certain = (step.abs() <= sd * REACH + limit) & (bound <= limit)
    # a channel whose squares overflow is never done
    finished = (certain | (high - low <= limit) | (score == 0)) & torch.isfinite(limit)
    newton = y + step
    quick = (newton > low) & (newton < high) & (score.abs() <= last_score * 0.5)
    target = torch.where(quick, newton, (low + high) / 2)
    target = torch.where(finished, torch.minimum(torch.maximum(newton, low), high), target)
    return SearchState(
        y=torch.where(done, y, target),
        low=low,
        high=high,
        last_score=torch.where(quick, score.abs(), torch.inf),  # after a bisection any progress counts
        done=done | finished,
        iterations=iterations + (~done).to(iterations.dtype),
        error=torch.where(done, error, torch.minimum(bound, high - low) / (sd + limit)),
    )


def search(
    state: SearchState,
    sums: Callable[[Tensor], Sums],
    phi: float | Tensor,
    sd: Tensor,
    accuracy: Accuracy,
    steps: int,
    stop_early: bool = False,
) -> SearchState:
    """Take at most `steps` steps.  `stop_early`: stop when every channel is done, a cheap test on a CPU."""
    for _ in range(steps):
        if stop_early and bool(state.done.all()):
            break
        state = search_step(state, sums(state.y), phi, sd, accuracy)
    return state


def plain_newton(
    start: Tensor, sums: Callable[[Tensor], Sums], phi: float | Tensor, sd: Tensor, steps: int
) -> SearchState:
    """The papers' iteration with the sign corrected (E1): a fixed number of steps, no bracket, no convergence test."""
    y, step = start, torch.zeros_like(start)
    for _ in range(steps):
        score, weight = sums(y)[:2]
        step = score / (weight * (phi - 1))
        y = y + step
    error = step.abs() / (sd + y.abs() * 1e-7 + 1e-38)
    return SearchState(y, y, y, step, error <= 1e-4, torch.full_like(y, steps), error)


def column_sums(
    flat: Tensor, phi: float | Tensor, floor: Tensor, unit: Tensor, reach: Tensor
) -> Callable[[Tensor], Sums]:
    """`Sums` as a function of y, over data in columns: (values, C) or (N, C, values)."""
    power = phi if isinstance(phi, float) else materialize(per_channel(phi, flat))
    floor, unit, reach = (per_channel(materialize(t), flat) for t in (floor, unit, reach))

    def sums(y: Tensor) -> Sums:
        y = per_channel(materialize(y), flat)

        def terms(data: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            d = data - y
            distance = torch.maximum(d.abs(), floor)
            w = weights(distance, power, unit)
            # for phi = 1.5 the weight is the square root of 1/|d|, which saves a division
            fraction = w * w * reach if isinstance(power, float) and power == 1.5 else reach / distance
            return d * w, w, w * fraction.clamp_max_(1.0)

        return Sums(*sum_chunks(terms, flat))

    return sums


def is_ordinary(size: Tensor) -> Tensor:
    return ((size >= 2**-40) & (size <= 2**40)) | (size == 0) | ~torch.isfinite(size)


def power_of_four(size: Tensor) -> Tensor:
    """A factor 4^k that brings sizes far from 1 near to 1; exactly 1 for sizes in [2^-40, 2^40], zero, inf and nan.

    Scaling by 4^k and by its square root is exact: a search over scaled data takes the same steps to the last bit.
    """
    ordinary = is_ordinary(size)
    mantissa, exponent = torch.frexp(torch.where(ordinary, 1.0, size))
    power_of_two = torch.where(ordinary, 1.0, size) / mantissa
    factor = (power_of_two * (1 + exponent % 2)).reciprocal()
    tiny = torch.finfo(size.dtype).tiny
    return torch.where(ordinary, 1.0, factor.clamp(tiny, 1 / tiny))


class ColumnSolution(NamedTuple):
    """Results of `solve_columns`, (C) each and in the units of the data."""

    state: SearchState
    mean: Tensor
    sd: Tensor
    floor: Tensor


def solve_columns(
    x: Tensor,
    phi: float | Tensor,
    start: Tensor | None,
    accuracy: Accuracy,
    steps: int,
    *,
    plain: bool,
    stop_early: bool,
) -> ColumnSolution:
    """Solve a matrix x (values, C), with phi a number or (C): statistics, bracket and search.

    Columns of extreme magnitude are scaled first: no square over- or underflows, the floor stays above `TINY`.
    """
    low, high = x.amin(0), x.amax(0)
    size = torch.maximum(low.abs(), high.abs())
    scale = None if stop_early and bool(is_ordinary(size).all()) else power_of_four(size)
    if scale is not None:
        x, low, high = x * scale, low * scale, high * scale
        start = None if start is None else start * scale
    var, mean = torch.var_mean(x, 0, correction=0)
    sd = var.sqrt()
    floor = (sd * accuracy.floor).clamp_min(TINY)
    sums = column_sums(x, phi, floor, (high - low).clamp_min(TINY), sd * REACH)
    if plain:
        state = plain_newton(mean, sums, phi, sd, steps)
    else:
        state = start_search(mean if start is None else start, low, high, done=~torch.isfinite(mean))
        state = search(state, sums, phi, sd, accuracy, steps, stop_early)
        state = state._replace(y=torch.where(torch.isfinite(mean), state.y, torch.nan))
    if scale is not None:
        state = state._replace(y=state.y / scale, low=state.low / scale, high=state.high / scale)
        mean, sd, floor = mean / scale, sd / scale, floor / scale
    return ColumnSolution(state, mean, sd, floor)


def parse_solver(text: str) -> int | None:
    """``safe`` -> None; ``newton`` or ``newton:iterations=8`` -> the number of plain iterations."""
    name, _, option = text.partition(":")
    key, _, value = (option or "iterations=4").partition("=")
    if name == "safe" and not option:
        return None
    if name == "newton" and key == "iterations" and re.fullmatch("[1-9][0-9]{0,2}", value):
        return int(value)
    raise ValueError(f"solver '{text}' is unknown: use safe, newton or newton:iterations=4 (1 to 999)")


def check_phi(phi: float) -> None:
    if not (1 <= phi <= 16 or phi == float("inf")):
        raise ValueError(f"phi = {phi:g} is outside [1, 16] and inf: 1 is the median, 2 the mean, inf the mid-range")
