"""The gate beside other rules on the same histories, as the table of docs/gate.md.

    python -m tests.nightly.gate.compare --suites 1000 --asv PYTHON --otava PYTHON

PYTHON: an interpreter that has the package.  They are slow, so that they see the first --few suites and slowdowns only.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.nightly.gate.simulation import (
    HARDER,
    NIGHTS,
    USUAL,
    FalseAlarms,
    Found,
    World,
    false_alarms,
    found_by_gate,
    histories,
    planted,
)

TIMES = 40
SIZES = (0.10, 0.20)
TORCHBENCH = 0.07  # slower than the night before by more than this
WORLDS = {"usual": USUAL, "harder": HARDER, "repetitions agree": World(noise=0.01, sticky=0.028)}


@dataclass(frozen=True)
class Question:
    """A history, and the nights after which a rule is asked."""

    values: Sequence[float]
    nights: Sequence[int]


Rule = Callable[[Sequence[Question]], list[list[list[int]]]]


def torchbench(questions: Sequence[Question]) -> list[list[list[int]]]:
    def rises(values: Sequence[float], night: int) -> list[int]:
        return [night] if values[night] > (1 + TORCHBENCH) * values[night - 1] else []

    return [[rises(one.values, night) for night in one.nights] for one in questions]


def tool(name: str, python: str) -> Rule:
    """asv or Otava, run by another interpreter."""

    def ask(questions: Sequence[Question]) -> list[list[list[int]]]:
        job = {"tool": name, "histories": [{"values": list(q.values), "nights": list(q.nights)} for q in questions]}
        script = Path(__file__).with_name("other_tools.py")
        done = subprocess.run([python, str(script)], input=json.dumps(job), capture_output=True, text=True, check=True)
        answer: list[list[list[int]]] = json.loads(done.stdout)
        return answer

    return ask


def news(now: Sequence[int], before: Sequence[int]) -> list[int]:
    """Changes that were not reported the night before, give or take two nights."""
    return [one for one in now if all(abs(one - other) > 2 for other in before)]


def alarms_of(rule: Rule, seed: int, suites: int, world: World) -> FalseAlarms:
    rng, result = np.random.default_rng(seed), FalseAlarms()
    for _ in range(suites):
        values = histories(rng, TIMES, world).values.tolist()
        answers = rule([Question(one, range(3, NIGHTS)) for one in values])
        result.nights += NIGHTS
        for n in range(NIGHTS - 3):
            result.standing += any(answer[n] for answer in answers)
            result.new += any(news(answer[n], answer[n - 1] if n else []) for answer in answers)
    return result


def found_by(rule: Rule, seed: int, count: int, size: float, world: World) -> Found:
    cases = list(planted(seed, count, size, world))
    nights = [range(start - 1, min(NIGHTS, start + 3)) for start, _ in cases]
    questions = [Question(one.values[0].tolist(), days) for (_, one), days in zip(cases, nights, strict=True)]
    result = Found()
    for (start, _), (before, *after) in zip(cases, rule(questions), strict=True):
        new = [news(answer, before) for answer in after]
        delay = next((n for n, indexes in enumerate(new) if indexes), None)
        result.delays.append(delay)
        if delay is not None:
            result.errors.append(new[delay][-1] - start)
    return result


def row(name: str, alarms: FalseAlarms, found: Sequence[Found]) -> str:
    cells = [name, f"{alarms.new / alarms.nights:.2%}", f"{alarms.standing / alarms.nights:.1%}"]
    ten, twenty = found
    cells += [f"{ten.share_within(1):.1%}", f"{ten.share_within(3):.1%}", f"{ten.share_dated():.1%}"]
    cells += [f"{twenty.share_within(1):.1%}", f"{twenty.share_within(3):.1%}", f"{twenty.share_dated():.1%}"]
    return f"| {' | '.join(cells)} | {alarms.nights}, {len(ten.delays)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suites", type=int, default=1000)
    parser.add_argument("--found", type=int, default=1000)
    parser.add_argument("--few", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--world", choices=WORLDS, default="usual")
    parser.add_argument("--asv", default="")
    parser.add_argument("--otava", default="")
    options = parser.parse_args()
    world, seed = WORLDS[options.world], options.seed
    alarms = false_alarms(seed, options.suites, times=TIMES, world=world)
    found = [found_by_gate(seed, options.found, size, world) for size in SIZES]
    print(row("normbench", alarms, found), flush=True)
    nights = f"improvements in {alarms.improvements / alarms.nights:.2%} of nights"
    print(f"({nights}; {alarms.repetitions / alarms.nights:.1f} measurements repeated a night)", flush=True)
    others: list[tuple[str, Rule, int, int]] = [("TorchBench's rule", torchbench, options.suites, options.found)]
    others += [(n, tool(n, p), options.few, 20 * options.few) for n in ("asv", "otava") if (p := getattr(options, n))]
    for name, rule, suites, count in others:
        result = [found_by(rule, seed, count, size, world) for size in SIZES]
        print(row(name, alarms_of(rule, seed, suites, world), result), flush=True)


if __name__ == "__main__":
    main()
