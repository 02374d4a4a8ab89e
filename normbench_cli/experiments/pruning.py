"""Pruning as a condition of a score: which channels of a trained network are removed, and what share is kept.

On the command line ``gamma:keep=0.9/0.5``; in the name of a metric ``test/accuracy@prune:by=gamma,keep=0.5``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from normbench_cli.config import RunConfig
from normbench_cli.errors import UsageError
from normbench_cli.registry import NORMS
from normbench_cli.registry.bounds import Bounds
from normbench_cli.registry.spec import expand, join_spec, read_value, split_list, split_spec, suggest

Criterion = Literal["gamma", "alive", "random"]
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)
CONDITION = "prune"
SHARES = "0.9/0.8/0.7/0.6/0.5/0.4/0.3/0.2/0.1"  # where none is given
KEEP, DRAW = Bounds(least=0, most=1), Bounds(least=0, most=1_000_000)


@dataclass(frozen=True)
class Pruning:
    """by: what channels are ranked by.  keep: the share that is kept.  draw: index of the random draw."""

    by: Criterion
    keep: float
    draw: int = 0

    def __str__(self) -> str:
        """The condition in a metric's name."""
        return join_spec(CONDITION, {"by": self.by, "keep": self.keep} | ({"draw": self.draw} if self.draw else {}))


def parse_prunings(texts: Iterable[str]) -> tuple[Pruning, ...]:
    """Parse command-line prunings, ``gamma`` or ``random:keep=0.9/0.5,draw=1``, without duplicates; without keep, nine
    shares."""
    specs = [spec for text in texts for spec in split_list(text)]
    return tuple(dict.fromkeys(read_pruning(one) for spec in specs for one in expand(with_shares(spec))))


def with_shares(spec: str) -> str:
    name, params = split_spec(spec)
    return join_spec(name, {"keep": SHARES} | params)


def read_pruning(spec: str) -> Pruning:
    """``gamma:keep=0.5``"""
    name, params = split_spec(spec)
    for by in CRITERIA:
        if name == by:
            return make_pruning(by, params)
    raise UsageError(f"channels cannot be pruned by '{name}'", suggest(name, list(CRITERIA)))


def make_pruning(by: Criterion, params: dict[str, str]) -> Pruning:
    known = ["keep", "draw"] if by == "random" else ["keep"]
    for key in params:
        if key not in known:
            raise UsageError(f"pruning by {by} has no '{key}'", suggest(key, known))
    keep = read_value(params.get("keep", "1"), float, "keep")
    draw = read_value(params.get("draw", "0"), int, "draw")
    KEEP.check("keep", keep)
    DRAW.check("draw", draw)
    return Pruning(by, keep, draw)


def pruning_of(condition: str) -> Pruning | None:
    """The pruning named by a metric's condition; None for any other condition."""
    if condition.partition(":")[0] != CONDITION:
        return None
    params = split_spec(condition)[1]
    return read_pruning(join_spec(params.pop("by", ""), params))


def check_prunings(config: RunConfig, prunings: Sequence[Pruning]) -> None:
    """Raise an error for a network whose norms do not show which channels matter."""
    norm = NORMS.parse_norm(config.norm)
    if prunings and not norm.normalizes_data:
        raise UsageError(
            f"norm '{config.norm}' has no gamma and beta to prune by", "evaluate a run with a norm of data"
        )
    if norm.placement == "before" and any(pruning.by == "alive" for pruning in prunings):
        raise UsageError(
            f"norm '{config.norm}' stands before operations: its gamma and beta do not say what an activation leaves",
            "prune by gamma",
        )
