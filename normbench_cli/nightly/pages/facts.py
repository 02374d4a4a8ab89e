"""Facts about the code and machine of nights: how two nights differ, and names for classes of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from normbench_cli.nightly.history import NightSummary
from normbench_cli.nightly.verdict import Judged

COMMIT = ("git_sha", "git_dirty")  # different every night: shown separately


def flat(facts: Mapping[str, Any]) -> dict[str, str]:
    """The facts as text by flat names; a version is listed under its package's name."""
    found: dict[str, str] = {}
    for name, value in facts.items():
        if isinstance(value, Mapping):
            found |= flat(value)
        elif name not in COMMIT:
            found[str(name)] = str(value)
    return found


def changed_facts(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """``["torch 2.12.0 -> 2.13.0"]``: what differs, in the order of the facts."""
    old, new = flat(before), flat(after)
    names = [*new, *(name for name in old if name not in new)]
    return [
        f"{name} {old.get(name, 'none')} -> {new.get(name, 'none')}" for name in names if old.get(name) != new.get(name)
    ]


def baseline_reason(night: NightSummary, one: Judged, earlier: Sequence[tuple[NightSummary, Judged]]) -> str:
    """Why a measurement has a new baseline: the gate's reason, or the versions that changed.

    earlier: the nights that had the measurement, oldest first.
    """
    if not earlier:
        return one.finding.reason or "the first night of this measurement"
    last, before = earlier[-1]
    if before.environment_class == one.environment_class:
        return one.finding.reason or f"accepted after {last.day}"
    changes = changed_facts(last.environment, night.environment)
    return ", ".join(changes) or one.finding.reason or f"other settings than on {last.day}"


def class_names(members: Mapping[str, NightSummary]) -> dict[str, str]:
    """A name for each class: the facts by which it differs from the others.  members: a night of each."""
    facts = {name: flat(night.environment) for name, night in members.items()}
    differing = list(dict.fromkeys(differing_facts(list(facts.values()))))
    called = {name: ", ".join(f"{fact} {own.get(fact, 'none')}" for fact in differing) for name, own in facts.items()}
    taken = list(called.values())
    return {
        name: text if text and taken.count(text) == 1 else f"{text or 'settings'} ({name[:6] or 'no class'})"
        for name, text in called.items()
    }


def differing_facts(facts: Sequence[Mapping[str, str]]) -> Iterator[str]:
    for own in facts:
        yield from (name for name in own if len({other.get(name) for other in facts}) > 1)
