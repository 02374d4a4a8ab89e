"""A filter as a tree of comparisons, and how it is applied to rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from normbench_cli.errors import UsageError
from normbench_cli.store.filter.position import Position
from normbench_cli.store.filter.values import Test, equals_any, is_metric, like, ordered

if TYPE_CHECKING:
    import pandas as pd

Columns = Mapping[str, Sequence[Any]]  # name -> one value per row


@dataclass(frozen=True)
class Comparison:
    """A column compared with one or several values.

    position: its position in an expression, for messages; None for ``key=value``.
    """

    name: str
    operator: str
    values: tuple[str, ...]
    position: Position | None = None

    def mask(self, columns: Columns) -> list[bool]:
        column = columns[self.name]
        try:
            test = self._test(column)
        except UsageError as error:
            if self.position is None:
                raise
            what, _, do = str(error).partition("; ")
            raise self.position.error(what, do) from error
        return [test(value) for value in column]

    def _test(self, column: Sequence[Any]) -> Test:
        if self.operator in ("=", "in"):
            return equals_any(self.name, self.values, column)
        (value,) = self.values
        return like(self.name, value) if self.operator == "like" else ordered(self.name, self.operator, value)

    def comparisons(self) -> Iterator[Comparison]:
        yield self


@dataclass(frozen=True)
class Not:
    part: Node

    def mask(self, columns: Columns) -> list[bool]:
        return [not value for value in self.part.mask(columns)]

    def comparisons(self) -> Iterator[Comparison]:
        return self.part.comparisons()


@dataclass(frozen=True)
class And:
    """Several expressions joined by ``and``."""

    parts: tuple[Node, ...]

    def mask(self, columns: Columns) -> list[bool]:
        return [all(values) for values in zip(*(part.mask(columns) for part in self.parts), strict=True)]

    def comparisons(self) -> Iterator[Comparison]:
        for part in self.parts:
            yield from part.comparisons()


@dataclass(frozen=True)
class Or:
    """Several expressions joined by ``or``."""

    parts: tuple[Node, ...]

    def mask(self, columns: Columns) -> list[bool]:
        return [any(values) for values in zip(*(part.mask(columns) for part in self.parts), strict=True)]

    def comparisons(self) -> Iterator[Comparison]:
        for part in self.parts:
            yield from part.comparisons()


Node = Comparison | Not | And | Or


@dataclass(frozen=True)
class Filter:
    """A selection of rows.  Without a root: all of them.

    A row is a run: its settings, its columns such as ``status``, and the last value of each metric by full name.  A
    missing value is none: only ``!=``, ``not in``, ``not like`` and ``= none`` hold for it.
    """

    root: Node | None = None

    def __bool__(self) -> bool:
        return self.root is not None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns and metrics that are compared, without duplicates."""
        return tuple(dict.fromkeys(one.name for one in self.root.comparisons())) if self.root else ()

    @cached_property
    def metrics(self) -> dict[str, Position | None]:
        """The compared metrics, and where each is first named."""
        if self.root is None:
            return {}
        return {one.name: one.position for one in reversed(list(self.root.comparisons())) if is_metric(one.name)}

    def matches(self, row: Mapping[str, Any]) -> bool:
        return self.root is None or self.root.mask({name: [row.get(name)] for name in self.names})[0]

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The matching rows of a frame, with their index."""
        if self.root is None:
            return frame
        missing = [None] * len(frame)
        columns = {name: frame[name].tolist() if name in frame else missing for name in self.names}
        return frame[self.root.mask(columns)]
