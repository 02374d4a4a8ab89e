"""Filters for `--where`: expressions as a person may write them, damaged ones, and nonsense."""

from __future__ import annotations

import random

from normbench_cli.config import FIELDS
from normbench_cli.config import REGISTRIES as SETTINGS
from tests.fuzzing.specs import spec
from tests.fuzzing.words import NASTY, NUMBERS, damaged_text

COLUMNS = [
    *FIELDS,
    "id",
    "status",
    "kind",
    "started_at",
    "host",
    "test/accuracy",
    "test/accuracy@bim:eps=0.03",
    "train/loss",
]
SIGNS = ["=", "==", "!=", "<>", "<", "<=", ">", ">="]
PIECES = [
    *COLUMNS,
    *SIGNS,
    *NUMBERS,
    *NASTY,
    *("in", "like", "and", "or", "not", "(", ")", ",", "'", '"', "none", "AND"),
]


def expression(rng: random.Random, depth: int = 3) -> str:
    """An expression of the grammar, with values of any kind."""
    how = rng.randrange(6) if depth else 0
    if how < 3:
        return comparison(rng)
    if how == 3:
        return f"not ({expression(rng, depth - 1)})"
    parts = [expression(rng, depth - 1) for _ in range(rng.choice([1, 2, 3]))]
    return rng.choice([" and ", " or ", " AND "]).join(f"({part})" if rng.random() < 0.5 else part for part in parts)


def comparison(rng: random.Random) -> str:
    name = rng.choice(COLUMNS)
    known = [spec(SETTINGS[name], rng)] if name in SETTINGS else ["finished", "2026-01-31", "50%", "none", *NUMBERS]
    values = [quoted(rng.choice([*known, rng.choice(NASTY)]), rng) for _ in range(rng.choice([1, 1, 2, 3]))]
    if len(values) > 1:
        return f"{name} {rng.choice(['in', 'not in'])} ({','.join(values)})"
    if rng.random() < 0.2:
        return f"{name} {rng.choice(['like', 'not like'])} {values[0]}"
    return f"{name}{rng.choice(SIGNS)}{values[0]}"


def quoted(text: str, rng: random.Random) -> str:
    mark = rng.choice(["'", '"', "", ""])
    return mark + (text.replace(mark, mark * 2) if mark else text) + mark


def filter_text(rng: random.Random) -> str:
    """An expression, a damaged one, or pieces in any order."""
    if rng.random() < 0.25:
        return rng.choice(["", " "]).join(rng.choice(PIECES) for _ in range(rng.randrange(20)))
    text = expression(rng)
    return damaged_text(text, rng, PIECES) if rng.random() < 0.5 else text


def filter_line(rng: random.Random, run_ids: list[str]) -> list[str]:
    """A command with one or two filters."""
    texts = [filter_text(rng) for _ in range(rng.choice([1, 1, 1, 2]))]
    if rng.random() < 0.1:
        return ["compare", texts[0], rng.choice([*run_ids, texts[-1]])]
    reading = rng.choice([["runs", "list"], ["runs", "list", "--json"], ["runs", "list", "-q"], ["report", "--json"]])
    return [*reading, *(word for text in texts for word in ("--where", text))]
