"""The gate beside other rules on the same histories, as the tables of docs/gate.md.

    python -m tests.nightly.gate.compare --suites N --found N --few N --asv PYTHON --otava PYTHON

PYTHON: an interpreter that has the package.  asv and Otava are slow: all rules see the first --few suites, and ten
times as many slowdowns; the gate and TorchBench's rule see all --suites and --found as well.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.nightly.gate.simulation import (
    HARDER,
    NIGHTS,
    USUAL,
    FalseAlarms,
    Found,
    World,
    false_alarms,
    found_by_gate,
    planted,
    times_of_suites,
)

SIZES = (0.10, 0.20)
SLOWDOWNS = 10  # for each of the --few suites
TORCHBENCH = 0.07  # slower than the night before by more than this
WORLDS = {"harder": HARDER, "usual": USUAL, "repetitions agree": World(noise=0.01, sticky=0.028)}
HEAD = (
    "| world | rule | new | standing | 10 %: first night | within 3 | dated ±2 | stands "
    "| 20 %: first night | within 3 | dated ±2 | stands | nights, slowdowns |"
)


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
    """Of the same times as the gate's, without the peak memories and losses that it judges as well."""
    result = FalseAlarms()
    for times in times_of_suites(seed, suites, world):
        answers = rule([Question(one, range(3, NIGHTS)) for one in times.values.tolist()])
        result.nights += NIGHTS
        for n in range(NIGHTS - 3):
            result.standing += any(answer[n] for answer in answers)
            result.new += any(news(answer[n], answer[n - 1] if n else []) for answer in answers)
    return result


def found_by(rule: Rule, seed: int, count: int, size: float, world: World) -> Found:
    cases = list(planted(seed, count, size, world))
    questions = [Question(one.values[0].tolist(), range(start - 1, NIGHTS)) for start, one in cases]
    result = Found()
    for (start, _), (before, *after) in zip(cases, rule(questions), strict=True):
        new = [news(answer, before) for answer in after]
        delay = next((n for n, indexes in enumerate(new) if indexes), None)
        result.delays.append(delay)
        if delay is None:
            continue
        result.stood += sum(bool(indexes) for indexes in new[delay + 1 :])
        result.due += len(new) - delay - 1
        if delay < 3:
            result.errors.append(new[delay][-1] - start)
    return result


def row(world: str, name: str, alarms: FalseAlarms, found: Sequence[Found]) -> str:
    cells = [world, name, f"{alarms.new / alarms.nights:.2%}", f"{alarms.standing / alarms.nights:.2%}"]
    for one in found:
        shares = one.share_within(1), one.share_within(3), one.share_dated(), one.share_standing()
        cells += [f"{share:.1%}" for share in shares]
    return f"| {' | '.join(cells)} | {alarms.nights}, {len(found[0].delays)} |"


def gate_row(name: str, seed: int, suites: int, count: int) -> Iterator[str]:
    alarms = false_alarms(seed, suites, WORLDS[name])
    found = [found_by_gate(seed, count, size, WORLDS[name]) for size in SIZES]
    yield row(name, "normbench", alarms, found)
    later = [sum(abs(error) <= 2 for error in one.later) / max(1, len(one.later)) for one in found]
    better = f"false improvements in {alarms.improvements / alarms.nights:.2%} of nights"
    repeated = f"{alarms.repetitions / alarms.nights:.1f} measurements repeated a night"
    yield f"({better}; {repeated}; dated ±2 six nights later: {later[0]:.1%}, {later[1]:.1%})"


def rule_row(name: str, called: str, rule: Rule, seed: int, suites: int, count: int) -> str:
    found = [found_by(rule, seed, count, size, WORLDS[name]) for size in SIZES]
    return row(name, called, alarms_of(rule, seed, suites, WORLDS[name]), found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suites", type=int, default=1000)
    parser.add_argument("--found", type=int, default=1000)
    parser.add_argument("--few", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=["harder"])
    parser.add_argument("--asv", default="")
    parser.add_argument("--otava", default="")
    options = parser.parse_args()
    seed, few, slowdowns = options.seed, options.few, SLOWDOWNS * options.few
    others = {"TorchBench's rule": torchbench}
    slow = {name: tool(name, python) for name in ("asv", "otava") if (python := getattr(options, name))}
    print(f"{HEAD}\n|{'---|' * 13}", flush=True)
    for world in options.worlds:
        for suites, count, rules in ((options.suites, options.found, others), (few, slowdowns, others | slow)):
            if not suites:
                continue
            for line in gate_row(world, seed, suites, count):
                print(line, flush=True)
            for name, rule in rules.items():
                print(rule_row(world, name, rule, seed, suites, count), flush=True)


if __name__ == "__main__":
    main()
