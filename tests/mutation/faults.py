"""The faults: where one can be made, which are drawn, and the text of a file with one in it."""

from __future__ import annotations

import ast
import difflib
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("norms", "objectives", "engine", "measure", "store", "reporting")


@dataclass
class Mutant:
    """A fault: where, what, and how it fared."""

    path: str
    line: int
    operator: str
    occurrence: int
    diff: list[str] = field(default_factory=list)
    outcome: str = "survived"
    seconds: float = 0.0
    tests: int = 0


def choose(sample: int, seed: int, only: str) -> list[Mutant]:
    """Positions drawn evenly from the rooms' code, each with one fault that can be made there."""
    draw = random.Random(seed)
    places: dict[tuple[str, int, int], list[Mutant]] = defaultdict(list)
    for room in ROOMS:
        for path in sorted((ROOT / "normbench_cli" / room).rglob("*.py")):
            if only in str(path):
                for position, mutant in mutants_of(path):
                    places[(mutant.path, *position)].append(mutant)
    chosen: list[Mutant] = []
    for place in draw.sample(sorted(places), len(places)):
        candidates = places[place]
        mutant = draw.choice(candidates)
        if mutate(mutant) is not None:
            chosen.append(mutant)
        if len(chosen) == sample:
            break
    print(f"{len(places)} positions in {len(ROOMS)} rooms; {len(chosen)} faults drawn with seed {seed}", flush=True)
    return chosen


def mutants_of(path: Path) -> Iterator[tuple[tuple[int, int], Mutant]]:
    import parso  # noqa: F401  # before cosmic-ray, whose operators import its parts in a circle
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.plugins import get_operator, operator_names

    tree = get_ast_from_path(path)
    for name in operator_names():
        kind, occurrence = get_operator(name), 0
        if kind.arguments():
            continue  # those for variables that one names
        operator = kind()
        for node in ast_nodes(tree):
            for start, _ in operator.mutation_positions(node):
                yield start, Mutant(str(path.relative_to(ROOT)), start[0], name, occurrence)
                occurrence += 1


def mutate(mutant: Mutant) -> str | None:
    """The file's text with the fault; None if the program would be the same."""
    import parso  # noqa: F401
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    text = (ROOT / mutant.path).read_text()
    changed = mutate_code(text, get_operator(mutant.operator)(), mutant.occurrence)
    if changed is None or skeleton(changed) == skeleton(text):
        return None
    before, after = text.splitlines(), changed.splitlines()
    mutant.diff = [
        line for line in difflib.unified_diff(before, after, n=0, lineterm="") if line[:2] not in ("--", "++", "@@")
    ]
    return str(changed)


def skeleton(text: str) -> str:
    """The program without annotations and without blocks for type checkers."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return text
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = [ast.Pass()]
    return ast.dump(tree)
