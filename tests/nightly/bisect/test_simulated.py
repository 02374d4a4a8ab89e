"""Whole bisections of simulated histories: noise of 3 % with heavy tails that drifts, a slowdown of 10 %."""

from __future__ import annotations

import random
from contextlib import AbstractContextManager, nullcontext
from math import ceil, log2

import numpy as np
import pytest

from normbench_cli.errors import NormbenchError
from normbench_cli.nightly.bisect.decide import DIFFERENT, NEARER
from normbench_cli.nightly.bisect.run import Bisected, Bisection, Measuring
from normbench_cli.nightly.bisect.search import ancestor_sets, members
from normbench_cli.nightly.bisect.worker import CannotMeasure

ROBUST_SD = 0.03
T3_ROBUST_SD = 1.134  # 1.4826 times the quartile of Student's t with 3 degrees of freedom


class Machine:
    """Measures at levels that it knows, with noise, and ever slower: 0.05 % a measurement."""

    def __init__(self, levels: dict[str, float], seed: int, noise: float = ROBUST_SD) -> None:
        self.levels, self.noise, self.count = levels, noise / T3_ROBUST_SD, 0
        self.rng = np.random.default_rng(seed)

    def open(self, commit: str) -> AbstractContextManager[Measuring]:
        return nullcontext(Simulated(self, commit))

    def measure(self, commit: str) -> float:
        if commit not in self.levels:
            raise CannotMeasure("ImportError: no such layer")
        self.count += 1
        return float(self.levels[commit] * 1.0005**self.count * np.exp(self.noise * self.rng.standard_t(3)))


class Simulated:
    def __init__(self, machine: Machine, commit: str) -> None:
        self.machine, self.commit, self.values = machine, commit, list[float]()

    def measure(self) -> float:
        self.values.append(self.machine.measure(self.commit))
        return self.values[-1]


def history(rng: random.Random, n: int) -> dict[str, list[str]]:
    """A history with branches and merges; every second one is linear."""
    branches = rng.random() < 0.5
    others = {i: [rng.randrange(-1, i)] if branches else [] for i in range(n)}
    return {str(i): [str(parent) for parent in dict.fromkeys([i - 1, *others[i]])] for i in range(n)}


def planted_levels(parents: dict[str, list[str]], planted: str, slowdown: float) -> dict[str, float]:
    commits = list(parents)
    sets = zip(commits, ancestor_sets(parents), strict=True)
    return {"-1": 1.0} | {c: 1 + slowdown * (commits.index(planted) in members(own)) for c, own in sets}


def bisect_planted(seed: int, slowdown: float = 0.1) -> tuple[str, Bisected, int, int]:
    """The planted commit, what was found, the number of commits, and of measurements."""
    rng = random.Random(seed)
    n = rng.randint(2, 300)
    parents = history(rng, n)
    planted = str(rng.randrange(n))
    machine = Machine(planted_levels(parents, planted, slowdown), seed)
    return planted, Bisection(parents, "-1", machine.open).run(), n, machine.count


@pytest.mark.parametrize("slowdown", [0.1, 0.2])
def test_the_planted_commit_is_found_in_95_of_100_histories(slowdown: float) -> None:
    found = 0
    for seed in range(100):
        planted, result, n, count = bisect_planted(seed, slowdown)
        found += result.first == (planted,) and result.confirmed is True
        most = 3 * NEARER.most * 2 * ceil(log2(n) + 1) + 4 * DIFFERENT.most
        assert count <= most
    assert found >= 95, found


def test_equal_ends_are_seldom_taken_for_different_ones() -> None:
    parents = {str(i): [str(i - 1)] for i in range(20)}
    levels = dict.fromkeys(["-1", *parents], 1.0)
    seen = [Bisection(parents, "-1", Machine(levels, seed).open).run() for seed in range(200)]
    assert sum(result.differs for result in seen) <= 6
    assert not any(result.confirmed for result in seen)


def test_exact_values_are_measured_once_a_commit() -> None:
    parents = {str(i): [str(i - 1)] for i in range(64)}
    machine = Machine(planted_levels(parents, "37", 1e-9), 0, noise=0.0)
    machine.levels = {commit: round(level, 12) for commit, level in machine.levels.items()}
    drifting, machine.measure = machine.levels, lambda commit: drifting[commit]  # type: ignore[method-assign]
    result = Bisection(parents, "-1", machine.open, exact=True).run()
    assert result.first == ("37",)
    assert result.confirmed
    assert all(len(judged.values) == 1 for judged in result.judged)


def test_a_faster_commit_is_found_as_well() -> None:
    parents = {str(i): [str(i - 1)] for i in range(30)}
    result = Bisection(parents, "-1", Machine(planted_levels(parents, "11", -0.2), 1).open).run()
    assert result.first == ("11",)
    assert result.ratio.high < 1


def test_commits_that_cannot_be_measured_are_named_with_the_reason() -> None:
    parents = {str(i): [str(i - 1)] for i in range(20)}
    levels = planted_levels(parents, "11", 0.2)
    del levels["10"], levels["11"]
    result = Bisection(parents, "-1", Machine(levels, 1).open).run()
    assert result.first == ("10", "11", "12")
    assert result.confirmed is None
    assert {judged.commit: judged.reason for judged in result.judged if judged.level == "skip"} == {
        "10": "ImportError: no such layer",
        "11": "ImportError: no such layer",
    }


def test_an_end_that_cannot_be_measured_is_an_error() -> None:
    parents = {"a": ["-1"]}
    with pytest.raises(NormbenchError, match=r"the bad commit a cannot be measured: ImportError.*--bad"):
        Bisection(parents, "-1", Machine({"-1": 1.0}, 0).open).run()


def test_two_commits_need_no_search() -> None:
    result = Bisection({"a": ["-1"]}, "-1", Machine({"-1": 1.0, "a": 1.5}, 0).open).run()
    assert (result.first, result.confirmed, result.ratio.reference) == (("a",), True, "-1")
    assert result.ratio.median == pytest.approx(1.5, rel=0.1)
