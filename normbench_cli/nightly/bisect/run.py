"""The bisection itself: do the ends differ, which commit is the first like the bad end, and is it confirmed?

It knows commits only by their hashes and measures through `open_worker`, so tests run it on simulated histories.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import Protocol

from normbench_cli.errors import NormbenchError
from normbench_cli.nightly.bisect.decide import DIFFERENT, NEARER, ONCE, Rule, decide, median_interval
from normbench_cli.nightly.bisect.search import Level, first_bad
from normbench_cli.nightly.bisect.worker import CannotMeasure


class Measuring(Protocol):
    """Measures one commit, and keeps the values."""

    values: list[float]

    def measure(self) -> float: ...


OpenWorker = Callable[[str], AbstractContextManager[Measuring]]


@dataclass
class Judged:
    """The measurements of a commit, and why it was skipped, if it was."""

    commit: str
    level: Level
    values: list[float] = field(default_factory=list)
    reason: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.values) if self.values else float("nan")


@dataclass(frozen=True)
class Ratio:
    """One commit's value over another's: the median of the rounds' ratios with its 95 % bootstrap interval."""

    commit: str
    reference: str
    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Bisected:
    """The outcome of a bisection.

    differs: whether the ends could be told apart.  first: the first commit like the bad end; several if those between
    them could not be judged.  confirmed: it differs from its parent in the same direction; None if this was not tested.
    """

    differs: bool
    ratio: Ratio
    first: tuple[str, ...] = ()
    confirmed: bool | None = None
    judged: tuple[Judged, ...] = ()


class Bisection:
    """parents: as for `search.first_bad`, without `good`.  exact: repeated measurements of a commit agree."""

    def __init__(
        self,
        parents: Mapping[str, Sequence[str]],
        good: str,
        open_worker: OpenWorker,
        *,
        exact: bool = False,
        report: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._parents, self._good, self._bad = parents, good, list(parents)[-1]
        self._open, self._report, self._exact = open_worker, report, exact
        self._judged: dict[str, Judged] = {}
        self._order = random.Random(0)

    def run(self) -> Bisected:
        with ExitStack() as opened:
            ends = [self._open_end(opened, name, commit) for name, commit in self._named_ends()]
            side, ratio = self._compare(ends, self._bad, self._good)
            for end, (name, commit) in zip(ends, self._named_ends(), strict=True):
                self._judged[commit] = Judged(commit, "good" if name == "good" else "bad", end.values)
            if not side:
                return Bisected(False, ratio, judged=tuple(self._judged.values()))
            self._report(
                f"the ends differ: {ratio.median:.4g} times the good one; {len(self._parents)} commits between"
            )
            found = first_bad(self._parents, lambda commit: self._judge(commit, ends, side))
        confirmed: bool | None = None
        if len(found.first) == 1:
            confirmed, ratio = self._confirm(found.first[0], side, ratio)
        return Bisected(True, ratio, found.first, confirmed, tuple(self._judged.values()))

    def _named_ends(self) -> list[tuple[str, str]]:
        return [("good", self._good), ("bad", self._bad)]

    def _open_end(self, opened: ExitStack, name: str, commit: str) -> Measuring:
        worker = opened.enter_context(self._open(commit))
        try:
            self._take(worker)
        except CannotMeasure as error:
            raise NormbenchError(
                f"the {name} commit {commit[:10]} cannot be measured: {error}", f"choose another commit as --{name}"
            ) from error
        return worker

    def _compare(self, workers: Sequence[Measuring], commit: str, reference: str) -> tuple[int, Ratio]:
        """The certain sign of the second minus the first, and their ratio."""
        ratios: list[float] = []

        def difference() -> float:
            before, after = self._round(workers)
            ratios.append(after / before if before else float("nan"))
            return after - before

        side, _ = decide(difference, ONCE if self._exact else DIFFERENT)
        return side, Ratio(commit, reference, *median_interval(ratios))

    def _judge(self, commit: str, ends: Sequence[Measuring], side: int) -> Level:
        """Whether a commit is nearer to the good end or to the bad one."""
        judged = self._judged[commit] = Judged(commit, "skip")
        with self._open(commit) as worker:

            def from_the_middle() -> float:
                good, bad, value = self._round([*ends, worker])
                return value - (good + bad) / 2

            try:
                nearer, _ = decide(from_the_middle, self._rule())
                judged.level = "skip" if not nearer else "bad" if nearer == side else "good"
                judged.reason = "" if nearer else "it lies between the ends, nearer to neither"
            except CannotMeasure as error:
                judged.reason = str(error)
            judged.values = worker.values
        self._report(f"{commit[:10]}: {judged.level} after {len(judged.values)} measurements")
        return judged.level

    def _rule(self) -> Rule:
        return ONCE if self._exact else NEARER

    def _confirm(self, first: str, side: int, ratio: Ratio) -> tuple[bool | None, Ratio]:
        """Measure the first bad commit interleaved with its parent."""
        parent = next(iter(self._parents[first]), self._good)
        if (first, parent) == (ratio.commit, ratio.reference):
            return True, ratio
        self._report(f"measuring {first[:10]} in turns with its parent {parent[:10]}")
        try:
            with self._open(parent) as before, self._open(first) as after:
                found, against_parent = self._compare([before, after], first, parent)
        except CannotMeasure:
            return None, ratio
        return found == side, against_parent

    def _round(self, workers: Sequence[Measuring]) -> list[float]:
        """One value of each worker, measured in random order."""
        order = list(range(len(workers)))
        self._order.shuffle(order)
        values = {number: self._take(workers[number]) for number in order}
        return [values[number] for number in range(len(workers))]

    def _take(self, worker: Measuring) -> float:
        return worker.values[0] if self._exact and worker.values else worker.measure()
