"""Seeds: the syntax of seed lists, and the independent random streams derived from a seed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from normbench_cli.errors import UsageError

LARGEST_SEED = 2**31 - 1
MOST_SEEDS = 10_000  # in one range; more is a typing error

DIGITS = re.compile("[0-9]{1,10}")

Stream = Literal["epoch", "weights", "fold", "fold_dropout", "fold_validation", "pruning"]
STREAMS: dict[Stream, tuple[int, int]] = {  # factor of the seed, offset
    "epoch": (1_000_003, 0),  # order and augmentation of an epoch, by its number
    "weights": (100_003, 0),  # initial weights of an operation, by its index in the model
    "fold": (1_000_003, 0),  # order of the examples of a fold, by its number
    "fold_dropout": (1_000_003, 500_009),  # dropout of a fold
    "fold_validation": (1_000_003, 700_001),  # the validation split of a fold
    "pruning": (1_000_003, 0),  # random channels, by the index of the draw
}


def derive(seed: int, stream: Stream, index: int = 0) -> int:
    """Derive the seed of a generator that is used for one purpose only.

    A run's results depend on these numbers, so changing them makes recorded runs irreproducible.  Factors are primes
    larger than any index, so that streams of neighboring seeds do not overlap.
    """
    factor, offset = STREAMS[stream]
    return seed * factor + index + offset


def parse_seeds(texts: Iterable[str]) -> list[int]:
    """Parse seeds written as ``3``, ``0-9``, ``1,5,7`` in any mix; in order, without duplicates."""
    seeds: list[int] = []
    for piece in (piece.strip() for text in texts for piece in text.split(",")):
        first, dash, last = piece.partition("-")
        if not DIGITS.fullmatch(first) or (dash and not DIGITS.fullmatch(last)):
            raise UsageError(f"seeds '{piece}' are not whole numbers", "write 3, 0-9 or 1,5,7")
        low, high = int(first), int(last) if dash else int(first)
        if high < low:
            raise UsageError(f"seeds '{piece}' end before they begin", f"write {high}-{low}")
        if high - low >= MOST_SEEDS:
            raise UsageError(f"seeds '{piece}' are {high - low + 1} runs", f"give at most {MOST_SEEDS:,}")
        seeds += range(low, high + 1)
    return list(dict.fromkeys(seeds))
