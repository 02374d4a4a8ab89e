"""What a person asks for -> cells: one corruption at one severity each.

`fog` is all its severities, `fog:severity=1/3` two of them; `all` the fifteen corruptions of the paper that can be made
here; `cifar10c` all the files that are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from normbench_cli.corruptions.base import SEVERITIES
from normbench_cli.errors import NormbenchError
from normbench_cli.registry import CORRUPTIONS, Entry, Spec
from normbench_cli.registry.facts import CorruptionFacts
from normbench_cli.registry.spec import expand, split_list, split_spec

ALL = "all"


@dataclass(frozen=True)
class Cell:
    """One corruption at one severity, and what it is averaged with."""

    spec: str  # fog:severity=3
    kind: str  # fog, the same without its severity
    severity: int
    group: str  # kinds of one group are averaged: "" as a rule, `seed=1`, `cifar10c`
    counts: bool  # in the mean over corruptions, which is over the paper's fifteen


def select(texts: Iterable[str]) -> tuple[list[Cell], list[str]]:
    """The cells, each once, and what had to be left out of `all`; a wrong word or value is an error."""
    cells: dict[str, Cell] = {}
    notes: list[str] = []
    for text in texts:
        for written in split_list(text):
            name, params = split_spec(written)
            params.setdefault("severity", "/".join(map(str, SEVERITIES)))
            for member, own in members(name, params, notes):
                pieces = ",".join(f"{key}={value}" for key, value in (params | own).items())
                for spec in expand(f"{member}:{pieces}"):
                    cell = make_cell(CORRUPTIONS.parse(spec))
                    CORRUPTIONS.build(cell.spec)
                    cells[cell.spec] = cell
    kinds = list(dict.fromkeys(cell.kind for cell in cells.values()))
    ordered = sorted(cells.values(), key=lambda cell: (kinds.index(cell.kind), cell.severity))
    return ordered, list(dict.fromkeys(notes))


def members(name: str, params: dict[str, str], notes: list[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """The corruptions a word stands for, each with parameters of its own."""
    if name.lower() == ALL:
        for entry in standard():
            if (reason := missing(entry)) is None:
                yield entry.name, {}
            else:
                notes.append(f"left out of all: {reason}")
        return
    published = bool(CORRUPTIONS.find(name).facts.data) and "name" not in params
    for file in CORRUPTIONS.find(name).load().names() if published else ():  # type: ignore[attr-defined]
        yield name, {"name": file}
    if not published:
        yield name, {}


def standard() -> list[Entry[CorruptionFacts]]:
    """The fifteen that a mean over corruptions is of."""
    return [e for e in CORRUPTIONS.entries.values() if e.facts.family and not e.facts.extra]


def missing(entry: Entry[CorruptionFacts]) -> str | None:
    """Why a corruption cannot be made on this machine, if it cannot."""
    if entry.facts.files:
        try:
            CORRUPTIONS.build(entry.name, severity=1)
        except NormbenchError as error:
            return str(error)
    return None


def make_cell(spec: Spec[CorruptionFacts]) -> Cell:
    rest = {key: value for key, value in spec.params.items() if key != "severity"}
    published = bool(spec.entry.facts.data)
    name = rest.get("name", "") if published else spec.entry.name
    setting = str(Spec(spec.entry, rest)).removeprefix(spec.entry.name).removeprefix(":")
    return Cell(
        spec=str(spec),
        kind=str(Spec(spec.entry, rest)),
        severity=spec.params["severity"],
        group=spec.entry.name if published else setting,
        counts=name in {entry.name for entry in standard()},
    )
