"""Binary search between a good and a bad commit: in any history, even if some commits cannot be judged.

A commit is bad if it contains the first bad one, that is, if the first bad one is the commit itself or an ancestor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Level = Literal["good", "bad", "skip"]


@dataclass(frozen=True)
class Found:
    """first: the first bad commit; several, oldest first, if commits between them could not be judged.  levels: of the
    judged commits, in order of judgment."""

    first: tuple[str, ...]
    levels: Mapping[str, Level]


def first_bad(parents: Mapping[str, Sequence[str]], judge: Callable[[str], Level]) -> Found:
    """Find the first bad commit.

    parents: of each commit that the bad end contains and the good end does not; ancestors come before descendants, the
    bad end last.  Parents outside, such as the good end, are ignored.  judge: called for O(log n) commits of a linear
    history, never for the ends.
    """
    commits = list(parents)
    contains = ancestor_sets(parents)
    suspects, skipped = contains[-1], set[int]()
    levels: dict[str, Level] = {}
    while (middle := next_to_judge(contains, suspects, skipped)) is not None:
        level = levels[commits[middle]] = judge(commits[middle])
        if level == "bad":
            suspects &= contains[middle]
        elif level == "good":
            suspects &= ~contains[middle]
        else:
            skipped.add(middle)
    return Found(tuple(commits[number] for number in members(suspects)), levels)


def ancestor_sets(parents: Mapping[str, Sequence[str]]) -> list[int]:
    """For each commit, the set of itself and its ancestors as a bit mask."""
    numbers = {commit: number for number, commit in enumerate(parents)}
    sets: list[int] = []
    for commit, before in parents.items():
        own = 1 << numbers[commit]
        for parent in before:
            own |= sets[numbers[parent]] if parent in numbers else 0
        sets.append(own)
    return sets


def members(of: int) -> list[int]:
    return [number for number in range(of.bit_length()) if of >> number & 1]


def next_to_judge(contains: Sequence[int], suspects: int, skipped: set[int]) -> int | None:
    """The suspect that best halves the others; away from skipped ones, whose neighbors are likely to fail, too."""
    numbers = members(suspects)
    places = {number: place for place, number in enumerate(numbers)}
    gaps = [places[number] for number in numbers if number in skipped]

    def gain(number: int) -> int:
        within = (contains[number] & suspects).bit_count()
        return min(within, len(numbers) - within, *(2 * abs(places[number] - gap) for gap in gaps))

    open_ones = [number for number in numbers[:-1] if number not in skipped]  # the last one is known to be bad
    return max(open_ones, key=gain, default=None)
