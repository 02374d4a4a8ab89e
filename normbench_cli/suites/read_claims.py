"""Claims of the papers with a number or an order, and the tests that decide them, read from TOML.

name, text, place, remark    the claim in words, its place in the paper, how the test interprets it
suites                       the suites whose runs decide it
test                         one of TESTS; reporting.claims says what each computes
metric, where                the quantity, and the runs that count: a setting and its value, or a list of values
groups                       the groups of runs to compare, each by its settings
least, most, margin, share   bounds of the test
other                        the second metric of an association
best_by                      the metric that selects the best settings of each group, at which it is compared
printed                      the paper's own number: row, metric, value (as printed), unit, note
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from normbench_cli.config import REGISTRIES
from normbench_cli.errors import UsageError
from normbench_cli.registry.spec import suggest
from normbench_cli.suites.checks import Table, check_keys, check_table
from normbench_cli.suites.read import SETTINGS, read_toml

TESTS = (
    *("difference", "equal", "ratio", "everywhere"),  # of two groups
    *("highest", "lowest", "order"),  # of two groups or more
    *("monotone", "share", "association"),  # of all runs
)
KEYS = ("name", "text", "place", "remark", "suites", "test", "metric", "where", "groups", "printed", "other", "best_by")
BOUNDS = ("least", "most", "margin", "share")
Settings = Mapping[str, Sequence[Any]]  # setting -> accepted values


@dataclass(frozen=True)
class Printed:
    """The claim's number as the paper prints it."""

    row: str
    metric: str
    value: str
    unit: str = ""
    note: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim of a paper.  bounds: by name, the numbers that the test needs.  best_by: empty if groups are compared at
    all settings that they share."""

    name: str
    text: str
    test: str
    metric: str
    suites: Sequence[str]
    place: str = ""
    remark: str = ""
    other: str = ""
    best_by: str = ""
    where: Settings = field(default_factory=dict)
    groups: Sequence[Settings] = ()
    bounds: Mapping[str, float] = field(default_factory=dict)
    printed: Printed | None = None


def read_claims(path: Path) -> list[Claim]:
    """The claims in a file."""
    content = read_toml(path)
    check_keys(content, ("claims",), str(path))
    return [read_claim(claim, f"{path}: claim {number}") for number, claim in enumerate(content["claims"], 1)]


def read_claim(claim: Table, where: str) -> Claim:
    check_keys(claim, (*KEYS, *BOUNDS), where)
    if missing := [key for key in ("name", "text", "test", "metric", "suites") if key not in claim]:
        raise UsageError(f"{where} has no '{missing[0]}'", f"write {missing[0]} = ...")
    if claim["test"] not in TESTS:
        raise UsageError(f"{where}: there is no test '{claim['test']}'", suggest(str(claim["test"]), list(TESTS)))
    groups = claim.get("groups", [])
    if bool(groups) != (claim["test"] not in TESTS[-3:]):
        raise UsageError(
            f"{where}: '{claim['test']}' is a test of {'all runs' if groups else 'groups'}", "see `groups`"
        )
    if claim.get("best_by") and claim["test"] not in ("difference", "equal", "ratio"):
        raise UsageError(f"{where}: best_by belongs to difference, equal and ratio", "leave it out")
    bounds = {name: float(claim[name]) for name in BOUNDS if name in claim}
    return Claim(
        **{key: claim[key] for key in ("name", "text", "test", "metric", "suites")},
        **{key: claim.get(key, "") for key in ("place", "remark", "other", "best_by")},
        where=settings(claim.get("where", {}), where),
        groups=tuple(settings(group, where) for group in groups),
        bounds=bounds,
        printed=Printed(**claim["printed"]) if "printed" in claim else None,
    )


def settings(given: Any, where: str) -> dict[str, tuple[Any, ...]]:
    """Each setting with its accepted values, specs in canonical form."""
    check_table(given, "where", where)
    check_keys(given, SETTINGS, where)
    found = {name: tuple(value) if isinstance(value, list) else (value,) for name, value in given.items()}
    return {
        name: tuple(REGISTRIES[name].canonical(one) for one in values) if name in REGISTRIES else values
        for name, values in found.items()
    }
