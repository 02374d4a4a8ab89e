"""A question that no paper answers: which of a suite's rows is best, and on what terms they are compared.

    [question]
    text       the question, a sentence
    equal      what is equal for all rows, a sentence
    best       the criterion: score (the default), or range: how wide the values of `at` within a point of the best are
    along      what `at` of the rows or columns stands for: phi, batch_size, lr, ...
    columns    those that count; all by default

The figure has a line for each column if the rows have `at`, otherwise a line for each row.  Columns with the same
`panel` share a figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from normbench_cli.errors import UsageError
from normbench_cli.registry.spec import suggest
from normbench_cli.suites.checks import Table, check_keys

Best = Literal["score", "range"]
LARGEST_PLACE = 1e12
KEYS = ("text", "equal", "best", "along", "columns")


@dataclass(frozen=True)
class Question:
    """A suite's question; see the module's docstring."""

    text: str
    equal: str
    best: Best = "score"
    along: str = ""
    columns: Sequence[str] = ()

    def counts(self, column: str) -> bool:
        """Whether a column counts towards the answer."""
        return not self.columns or column in self.columns


def read_question(given: Table, columns: Iterable[str], where: str) -> Question:
    """Read the table [question] of a suite with these columns."""
    check_keys(given, KEYS, where)
    for key in KEYS:
        if key != "columns" and not isinstance(given.get(key, ""), str):
            raise UsageError(f"{where}: {key} is {given[key]!r}", "write text")
    for key in ("text", "equal"):
        if not given.get(key):
            raise UsageError(f"{where} has no '{key}'", f'write {key} = "..."')
    counted = given.get("columns", [])
    if not isinstance(counted, list):
        raise UsageError(f"{where}: columns is {counted!r}", "write a list of columns")
    check_keys(map(str, counted), columns, f"{where}: columns")
    return Question(given["text"], given["equal"], read_best(given, where), given.get("along", ""), tuple(counted))


def read_best(given: Table, where: str) -> Best:
    for known in get_args(Best):
        if given.get("best", "score") == known:
            found: Best = known
            return found
    raise UsageError(f"{where}: best = {given['best']!r}", suggest(given["best"], list(get_args(Best))))


def check_places(question: Question, places: Iterable[tuple[str, float | None]], where: str) -> None:
    """A figure needs numbers that it can show; a range, which is measured in decades, needs positive numbers.

    places: the column and `at` of each cell.
    """
    for column, at in places:
        if at is not None and not abs(at) <= LARGEST_PLACE:
            raise UsageError(f"{where}: column {column} has at = {at}", f"give a number up to {LARGEST_PLACE:g}")
        if question.best == "range" and question.counts(column) and not (at and at > 0):
            raise UsageError(f"{where}: column {column} has at = {at}", "give each a number above 0, or best = 'score'")
