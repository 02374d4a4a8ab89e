"""Parses the arguments of commands into cases, each one corruption at one severity.

`fog` means all its severities, `fog:severity=1/3` two of them; `all` means those of the paper's fifteen corruptions
that can be generated on this machine; `cifar10c` means all files that exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from normbench_cli.corruptions.base import SEVERITIES
from normbench_cli.corruptions.published import PublishedCorruption
from normbench_cli.errors import NormbenchError
from normbench_cli.registry import CORRUPTIONS, Entry, Spec
from normbench_cli.registry.facts import CorruptionFacts
from normbench_cli.registry.spec import expand, split_list, split_spec

ALL = "all"


@dataclass(frozen=True)
class CorruptionCase:
    """One corruption at one severity, and the mean that it counts towards."""

    spec: str  # fog:severity=3
    kind: str  # fog, the spec without its severity
    severity: int
    group: str  # the mean is taken over the kinds of a group: usually "", also `seed=1` or `cifar10c`
    in_mean: bool  # only the paper's fifteen are


def parse_cases(texts: Iterable[str]) -> tuple[list[CorruptionCase], list[str]]:
    """Return the cases without duplicates, and notes on what `all` omits.  Raises for unknown names or values."""
    cases: dict[str, CorruptionCase] = {}
    notes: list[str] = []
    for text in texts:
        for written in split_list(text):
            name, params = split_spec(written)
            params.setdefault("severity", "/".join(map(str, SEVERITIES)))
            for corruption, own_params in expand_name(name, params, notes):
                pairs = ",".join(f"{key}={value}" for key, value in (params | own_params).items())
                for spec in expand(f"{corruption}:{pairs}"):
                    case = make_case(CORRUPTIONS.parse(spec))
                    CORRUPTIONS.build(case.spec)
                    cases[case.spec] = case
    kinds = list(dict.fromkeys(case.kind for case in cases.values()))
    ordered = sorted(cases.values(), key=lambda case: (kinds.index(case.kind), case.severity))
    return ordered, list(dict.fromkeys(notes))


def expand_name(name: str, params: dict[str, str], notes: list[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the corruptions that a name refers to, each with additional parameters."""
    if name.lower() == ALL:
        for entry in standard_corruptions():
            if (reason := why_unavailable(entry)) is None:
                yield entry.name, {}
            else:
                notes.append(f"left out of all: {reason}")
        return
    corruption = CORRUPTIONS.find(name).load()
    if isinstance(corruption, type) and issubclass(corruption, PublishedCorruption) and "name" not in params:
        for file in corruption.names():
            yield name, {"name": file}
    else:
        yield name, {}


def standard_corruptions() -> list[Entry[CorruptionFacts]]:
    """The fifteen over which the paper averages."""
    return [entry for entry in CORRUPTIONS.entries.values() if entry.facts.family and not entry.facts.extra]


def why_unavailable(entry: Entry[CorruptionFacts]) -> str | None:
    """Why a corruption cannot be generated on this machine, if it cannot."""
    if entry.facts.files:
        try:
            CORRUPTIONS.build(entry.name, severity=1)
        except NormbenchError as error:
            return str(error)
    return None


def make_case(spec: Spec[CorruptionFacts]) -> CorruptionCase:
    without_severity = Spec(spec.entry, {key: value for key, value in spec.params.items() if key != "severity"})
    published = bool(spec.entry.facts.data)
    name = without_severity.params.get("name", "") if published else spec.entry.name
    params = str(without_severity).removeprefix(spec.entry.name).removeprefix(":")
    return CorruptionCase(
        spec=str(spec),
        kind=str(without_severity),
        severity=spec.params["severity"],
        group=spec.entry.name if published else params,
        in_mean=name in {entry.name for entry in standard_corruptions()},
    )
