"""The search for the generalized geometric median, one channel or a thousand at once: Newton inside a bracket.

The caller supplies the sums over the data (`Sums`), so that dense, compiled and segmented callers share the search.
Everything a channel needs is in tensors of one entry a channel; nothing here waits for a device unless told to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from normbench_cli.norms._batch.layout import per_channel
from normbench_cli.norms._batch.reduce import materialize, sum_chunks

REACH = 3e-4  # a last step may be this long, in standard deviations; `near` is measured on the same length


MOST_ROUNDS = 80  # bisection alone needs 40 for the last digit of float64
TINY = 1e-30


class Sums(NamedTuple):
    """Per channel, with d = x - y and w = max(|d|, floor)^(phi-2)."""

    pull: Tensor  # sum d w: its sign says on which side the median lies
    weight: Tensor  # sum w
    near: Tensor  # sum w min(1, REACH sd / |d|): how much of the weight can change within REACH


class State(NamedTuple):
    y: Tensor
    low: Tensor
    high: Tensor
    last_pull: Tensor
    done: Tensor
    iterations: Tensor
    error: Tensor  # bound on |y - mu| / sd; before the first step infinite


class Accuracy(NamedTuple):
    """What is asked for, in standard deviations of the channel."""

    tolerance: float  # distance from the exact median
    floor: float  # smallest |x - y| that counts as different from 0
    rounding: float  # ulp of the values, relative


# The floor bounds the weights where values coincide with the median (tied values then share the gradient), and moves
# the median by no more than about its own size.
ACCURACY = {
    torch.float64: Accuracy(1e-12, 1e-12, 4.5e-16),
    torch.float32: Accuracy(6e-6, 1e-6, 2.4e-7),
}


def weights(distance: Tensor, phi: float | Tensor, unit: Tensor) -> Tensor:
    """(distance / unit)^(phi-2): one power; for phi = 1.5 a reciprocal root (the unit cancels everywhere)."""
    if isinstance(phi, float):
        if phi == 1.5:
            return distance.rsqrt()
        return distance.div(unit).log_().mul_(phi - 2).exp_()
    return distance.div(unit).log_().mul_(phi - 2).exp_()


def begin(start: Tensor, low: Tensor, high: Tensor, done: Tensor | None = None) -> State:
    y = torch.minimum(torch.maximum(start, low), high)
    never, zero = torch.full_like(y, torch.inf), torch.zeros_like(y)
    return State(y, low, high, never, torch.zeros_like(y, dtype=torch.bool) if done is None else done, zero, never)


def advance(state: State, sums: Sums, phi: float | Tensor, spread: Tensor, accuracy: Accuracy) -> State:
    """One step: narrow the bracket, then Newton, or bisection where Newton leaves the bracket or is slow.

    A channel is done when the step it takes ends within the tolerance.  Newton's error after a step s comes from the
    weights that change along the way: about |s| q / (1 - q), where q is the share of the weight that lies near.  A
    short step is no evidence by itself, because one value close to y makes every step short.
    """
    y, low, high, last_pull, done, iterations, error = state
    pull, weight, near = sums
    step = pull / (weight * (phi - 1))
    low = torch.where(pull > 0, torch.maximum(low, y), low)
    high = torch.where(pull < 0, torch.minimum(high, y), high)
    limit = spread * accuracy.tolerance + y.abs() * accuracy.rounding
    bend: float | Tensor = (phi - 2).abs() if isinstance(phi, Tensor) else abs(phi - 2)
    change = near / weight * (bend + 0.5)
    bound = step.abs() * (change / (1 - change).clamp_min(1e-9)).clamp_max(3.0)
    certain = (step.abs() <= spread * REACH + limit) & (bound <= limit)
    # no claim about a channel whose squares overflow
    finished = (certain | (high - low <= limit) | (pull == 0)) & torch.isfinite(limit)
    newton = y + step
    quick = (newton > low) & (newton < high) & (pull.abs() <= last_pull * 0.5)
    target = torch.where(quick, newton, (low + high) / 2)
    target = torch.where(finished, torch.minimum(torch.maximum(newton, low), high), target)
    return State(
        y=torch.where(done, y, target),
        low=low,
        high=high,
        last_pull=torch.where(quick, pull.abs(), torch.inf),  # after a bisection any progress counts
        done=done | finished,
        iterations=iterations + (~done).to(iterations.dtype),
        error=torch.where(done, error, torch.minimum(bound, high - low) / (spread + limit)),
    )


def search(
    state: State,
    sums: Callable[[Tensor], Sums],
    phi: float | Tensor,
    spread: Tensor,
    accuracy: Accuracy,
    rounds: int,
    look: bool = False,
) -> State:
    """At most `rounds` steps.  `look`: leave when every channel is done, which on a CPU costs nothing to ask."""
    for _ in range(rounds):
        if look and bool(state.done.all()):
            break
        state = advance(state, sums(state.y), phi, spread, accuracy)
    return state


def newton(start: Tensor, sums: Callable[[Tensor], Sums], phi: float | Tensor, spread: Tensor, rounds: int) -> State:
    """The papers' iteration with the sign that works: a fixed number of steps, no bracket, no test."""
    y, step = start, torch.zeros_like(start)
    for _ in range(rounds):
        pull, weight, _ = sums(y)
        step = pull / (weight * (phi - 1))
        y = y + step
    error = step.abs() / (spread + y.abs() * 1e-7 + 1e-38)
    return State(y, y, y, step, error <= 1e-4, torch.full_like(y, rounds), error)


def data_sums(
    flat: Tensor, phi: float | Tensor, floor: Tensor, unit: Tensor, spread: Tensor
) -> Callable[[Tensor], Sums]:
    """The sums of `Sums` over data in columns; one power an element."""
    power = phi if isinstance(phi, float) else materialize(per_channel(phi, flat))
    floor, unit, reach = (per_channel(materialize(t), flat) for t in (floor, unit, spread * REACH))

    def sums(y: Tensor) -> Sums:
        y = per_channel(materialize(y), flat)

        def terms(data: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            d = data - y
            distance = torch.maximum(d.abs(), floor)
            w = weights(distance, power, unit)
            # for phi = 1.5 the weight is the root of 1/|d|, which saves a division
            share = w * w * reach if isinstance(power, float) and power == 1.5 else reach / distance
            return d * w, w, w * share.clamp_max_(1.0)

        return Sums(*sum_chunks(terms, flat))

    return sums


def solve_columns(
    x: Tensor, phi: float | Tensor, start: Tensor | None, accuracy: Accuracy, rounds: int, plain: bool, look: bool
) -> tuple[State, Tensor, Tensor]:
    """The whole job for a matrix whose columns are the channels: state, mean and standard deviation of each."""
    var, mean = torch.var_mean(x, 0, correction=0)
    spread = var.sqrt()
    low, high = x.amin(0), x.amax(0)
    floor = (spread * accuracy.floor).clamp_min(TINY)
    sums = data_sums(x, phi, floor, (high - low).clamp_min(TINY), spread)
    if plain:
        return newton(mean, sums, phi, spread, rounds), mean, spread
    state = begin(mean if start is None else start, low, high, done=~torch.isfinite(mean))
    state = search(state, sums, phi, spread, accuracy, rounds, look)
    return state._replace(y=torch.where(torch.isfinite(mean), state.y, torch.nan)), mean, spread


def parse_solver(text: str) -> int | None:
    """``safe`` -> None; ``newton`` or ``newton:iterations=8`` -> the number of plain iterations."""
    name, _, option = text.partition(":")
    key, _, value = (option or "iterations=4").partition("=")
    if name == "safe" and not option:
        return None
    if name == "newton" and key == "iterations" and value.isdigit() and int(value) > 0:
        return int(value)
    raise ValueError(f"solver '{text}' is unknown: use safe, newton or newton:iterations=4")


def check_phi(phi: float) -> None:
    if not (1 <= phi <= 16 or phi == float("inf")):
        raise ValueError(f"phi = {phi:g} is outside [1, 16] and inf: 1 is the median, 2 the mean, inf the mid-range")
