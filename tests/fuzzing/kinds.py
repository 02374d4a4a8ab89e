"""The kinds of hostile input: from a seed to what a case prepares and which commands it runs."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzzing.command_lines import command_line, known_commands
from tests.fuzzing.databases import database_lines
from tests.fuzzing.filters import filter_line
from tests.fuzzing.specs import spec_line
from tests.fuzzing.suite_files import write_experiment, write_nightly, write_suite
from tests.fuzzing.surroundings import surrounded_line


@dataclass(frozen=True)
class Case:
    """One hostile input; the same case is always the same."""

    kind: str
    seed: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.seed}"


@dataclass
class Input:
    """What a case comes to.  damage: of the database, in words; damaged: the runs whose rows it may concern, None if
    that cannot be known."""

    lines: list[list[str]]
    environment: dict[str, str | None] = field(default_factory=dict)
    damage: str = ""
    damaged: set[str] | None = field(default_factory=set)


Maker = Callable[[random.Random, Path, list[str]], Input]


def command_case(rng: random.Random, root: Path, run_ids: list[str]) -> Input:
    return Input([command_line(rng, run_ids)])


def spec_case(rng: random.Random, root: Path, run_ids: list[str]) -> Input:
    return Input([spec_line(rng, run_ids)])


def filter_case(rng: random.Random, root: Path, run_ids: list[str]) -> Input:
    return Input([filter_line(rng, run_ids)])


def suite_case(rng: random.Random, root: Path, run_ids: list[str]) -> Input:
    return Input([write_suite(root / "work", rng)])


def experiment_case(rng: random.Random, root: Path, run_ids: list[str]) -> Input:
    return Input([write_experiment(root / "work", rng)])


def nightly_case(rng: random.Random, root: Path, run_ids: list[str]) -> Input:
    return Input([write_nightly(root / "work", rng)])


def database_case(rng: random.Random, root: Path, run_ids: list[str]) -> Input:
    lines, damage = database_lines(root / "home" / "normbench.db", rng, run_ids)
    return Input(lines, damage=damage.what, damaged=damage.touched)


def surrounding_case(rng: random.Random, root: Path, run_ids: list[str]) -> Input:
    line, variables = surrounded_line(root / "home", root / "work", rng, run_ids)
    return Input([line], variables)


KINDS: dict[str, tuple[Maker, int]] = {  # and how many of a hundred cases are of a kind
    "command": (command_case, 20),
    "spec": (spec_case, 22),
    "filter": (filter_case, 32),
    "suite": (suite_case, 10),
    "experiment": (experiment_case, 6),
    "database": (database_case, 10),
    "surrounding": (surrounding_case, 6),
}
if any(path[0] == "nightly" for path in known_commands()):
    KINDS["nightly"] = (nightly_case, 8)


def make_input(case: Case, root: Path, run_ids: list[str]) -> Input:
    """Prepare a case in a sandbox's folder."""
    return KINDS[case.kind][0](random.Random(str(case)), root, run_ids)


def cases(first: int, count: int, kind: str = "") -> list[Case]:
    """So many cases with seeds from the first on, of one kind or of all by their shares."""
    turns = [kind] if kind else [name for name, (_, share) in KINDS.items() for _ in range(share)]
    random.Random(0).shuffle(turns)
    return [Case(turns[seed % len(turns)], seed) for seed in range(first, first + count)]
