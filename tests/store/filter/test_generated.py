"""Generated filters against a reference in plain Python over the same rows, and generated nonsense."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from normbench_cli.errors import UsageError
from normbench_cli.store.filter import parse_filter

Row = dict[str, Any]
Reference = tuple[str, Callable[[Row], bool]]  # a filter as text, and what it means

SPECS = {  # as written -> as recorded
    "bn": "batchnorm",
    "BatchNorm": "batchnorm",
    "popnorm:kappa=8.0": "popnorm:kappa=8",
    "popnorm:remove=none,kappa=8": "popnorm:kappa=8,remove=none",
    "ws+gn:groups=8": "weightstandardization+groupnorm:groups=8",
    "none": "none",
}
TEXTS = ["", "a", "Ab", "it's", 'say "so"', "x and y", "(1)", "ünï", "100%", "DROP TABLE runs;--", "a\nb", "none", "1"]
NUMBERS = [0, 1, 2.5, -3, 1e-5, 1e30, 0.93]
DAYS = [datetime(2026, 1, day, 12, tzinfo=UTC).astimezone() for day in (1, 2, 3)]
ROWS: list[Row] = [
    {
        "norm": list(SPECS.values())[i % 6],
        "note": TEXTS[i % len(TEXTS)],
        "tag": TEXTS[(3 * i + 1) % len(TEXTS)],
        "seed": (i * 7) % 5,
        "epochs": None if i % 3 == 0 else i % 4,
        "lr": NUMBERS[i % len(NUMBERS)],
        "started_at": DAYS[i % 3],
        "test/accuracy": [None, float("nan"), 0.93, 0.5][i % 4],
        "test/accuracy@bim:eps=0.03": [0.1, None][i % 2],
        "odd name": float(i),
    }
    for i in range(26)
]
FRAME = pd.DataFrame(ROWS, dtype=object)
NUMERIC = ["seed", "epochs", "lr", "test/accuracy", "test/accuracy@bim:eps=0.03", "odd name"]
ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def quoted(text: str, mark: str = "'") -> str:
    return mark + text.replace(mark, mark * 2) + mark


def is_equal(value: Any, wanted: Any) -> bool:
    return bool(value == wanted) or (value != value and wanted != wanted)


@st.composite
def order_of_numbers(draw: st.DrawFn) -> Reference:
    name, number, order = (
        draw(st.sampled_from(NUMERIC)),
        draw(st.sampled_from(NUMBERS)),
        draw(st.sampled_from([*ORDERS])),
    )
    text = f"{shown_name(draw, name)}{draw(blanks)}{order}{draw(blanks)}{number!r}"
    return text, lambda row: row[name] is not None and ORDERS[order](row[name], number)


@st.composite
def equality(draw: st.DrawFn) -> Reference:
    """``=``, ``!=``, ``in`` or ``not in`` over any kind of column."""
    name, choices = draw(st.sampled_from(EQUALITIES))
    picked = draw(st.lists(st.sampled_from(list(choices)), min_size=1, max_size=4))
    wanted = [choices[text] for text in picked]
    negated = draw(st.booleans())
    if len(picked) == 1 and draw(st.booleans()):
        sign = draw(st.sampled_from(["!=", "<>"] if negated else ["=", "=="]))
        text = f"{shown_name(draw, name)}{draw(blanks)}{sign}{draw(blanks)}{picked[0]}"
    else:
        values = f"{draw(blanks)},{draw(blanks)}".join(picked)
        text = f"{shown_name(draw, name)} {word(draw, 'not') + ' ' if negated else ''}{word(draw, 'in')} ({values})"
    return text, lambda row: any(is_equal(row[name], one) for one in wanted) is not negated


@st.composite
def pattern(draw: st.DrawFn) -> Reference:
    name, pieces = draw(st.sampled_from(["note", "tag"])), draw(st.lists(st.sampled_from("%_aAb 1n\n'x"), max_size=6))
    negated = draw(st.booleans())
    regular = "".join({"%": ".*", "_": "."}.get(piece, re.escape(piece)) for piece in pieces)
    text = f"{name} {word(draw, 'not') + ' ' if negated else ''}{word(draw, 'like')} {quoted(''.join(pieces))}"
    return text, lambda row: bool(re.fullmatch(regular, row[name], re.I | re.S)) is not negated


@st.composite
def day(draw: st.DrawFn) -> Reference:
    number, order = draw(st.integers(1, 3)), draw(st.sampled_from([*ORDERS, "="]))
    wanted = f"2026-01-0{number}"
    orders = {"=": lambda a, b: a == b, **ORDERS}
    return f"started_at {order} {wanted}", lambda row: orders[order](f"{row['started_at']:%Y-%m-%d}", wanted)


EQUALITIES: list[tuple[str, dict[str, Any]]] = [
    ("norm", dict(SPECS)),
    ("note", {quoted(text, mark): text for text in TEXTS for mark in "'\""}),
    ("seed", {"1": 1, "'2'": 2, "4": 4}),
    ("epochs", {"none": None, "1": 1, "3": 3}),
    ("test/accuracy", {"none": None, "nan": float("nan"), "0.93": 0.93, "50%": 0.5}),
    ("odd name", {"1": 1, "2e0": 2}),
]
blanks = st.sampled_from(["", " ", "  ", "\t", "\n"])


def shown_name(draw: st.DrawFn, name: str) -> str:
    return quoted(name, draw(st.sampled_from("'\""))) if name == "odd name" or draw(st.booleans()) else name


def word(draw: st.DrawFn, keyword: str) -> str:
    return draw(st.sampled_from([keyword, keyword.upper(), keyword.title()]))


def joined_by(draw: st.DrawFn, parts: list[Reference], keyword: str, rule: Callable[[Any], bool]) -> Reference:
    text = f" {word(draw, keyword)} ".join(f"({part})" for part, _ in parts)
    return text, lambda row: rule(holds(row) for _, holds in parts)


def negation(draw: st.DrawFn, part: Reference) -> Reference:
    return f"{word(draw, 'not')} ({part[0]})", lambda row: not part[1](row)


@st.composite
def without_parentheses(draw: st.DrawFn) -> Reference:
    """``a or not b and c``: not binds first, then and."""
    a, b, c = (draw(comparisons) for _ in range(3))
    text = f"{a[0]} {word(draw, 'or')} {word(draw, 'not')} {b[0]} {word(draw, 'and')} {c[0]}"
    return text, lambda row: a[1](row) or (not b[1](row) and c[1](row))


@st.composite
def trees(draw: st.DrawFn, depth: int = 3) -> Reference:
    kind = draw(st.sampled_from(["leaf", "bare", "and", "or", "not"])) if depth else "leaf"
    if kind in ("leaf", "bare"):
        leaf: Reference = draw(comparisons if kind == "leaf" else without_parentheses())
        return leaf
    if kind == "not":
        return negation(draw, draw(trees(depth - 1)))
    parts = draw(st.lists(trees(depth - 1), min_size=1, max_size=3))
    return joined_by(draw, parts, kind, {"and": all, "or": any}[kind])


comparisons = st.one_of(order_of_numbers(), equality(), pattern(), day())
PIECES = [
    *("norm", "seed", "note", "test/accuracy", "=", "<", ">=", "!=", "in", "like", "and", "or", "not", "(", ")", ","),
    *("'", '"', "''", "popnorm:kappa=8", "a:b", "os:system", "1", "1e999", "none", "%", "\\", ";", "--", "/*", "\x00"),
    *(
        "DROP TABLE runs",
        "1=1",
        "UNION SELECT",
        "__import__('os')",
        "\ud800",
        "\u202e",
        "İ",
        "ß",
        "\n",
        "\t",
        "🙂",
        "{}",
    ),
]


def check_meaning(reference: Reference) -> None:
    text, holds = reference
    found, expected = parse_filter(text), [holds(row) for row in ROWS]
    assert FRAME.index.isin(found.apply(FRAME).index).tolist() == expected, text
    assert [found.matches(row) for row in ROWS[:4]] == expected[:4], text


def check_nonsense(text: str) -> None:
    with suppress(UsageError):
        assert isinstance(parse_filter(text).matches(ROWS[0]), bool)


nonsense = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(PIECES), max_size=20).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=20).map(" ".join),
    st.tuples(st.sampled_from(["(", "not ", "not (", "seed=1 and ("]), st.integers(1, 3000)).map(lambda p: p[0] * p[1]),
)
few = partial(settings, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@given(trees())
@few(max_examples=100)
def test_a_filter_means_what_the_reference_computes(reference: Reference) -> None:
    check_meaning(reference)


@given(nonsense)
@few(max_examples=100)
def test_nonsense_is_refused_or_understood(text: str) -> None:
    check_nonsense(text)


@pytest.mark.slow
@given(trees())
@few(max_examples=20_000)
def test_20_000_filters_mean_what_the_reference_computes(reference: Reference) -> None:
    check_meaning(reference)


@pytest.mark.slow
@given(nonsense)
@few(max_examples=20_000)
def test_20_000_pieces_of_nonsense_are_refused_or_understood(text: str) -> None:
    check_nonsense(text)
