"""Deviations from the papers' protocol: schedule lengths, seeds and every other setting, with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from normbench_cli.reporting.document import Cell, Table
from normbench_cli.suites import Scale, Suite
from normbench_cli.suites.scales import LENGTHS, deviations, paper_config

COLUMNS = ("suite", "setting", "protocol", "here", "why")
STAND_IN = "a stand-in that runs in seconds"
OF_THE_SUITE = "set by the suite for this scale, so that every cell can be run"
OF_THE_BUDGET = "shortened to fit all runs into the budget"
FEWER_SEEDS = "to save time; the spread over seeds is not well known"


@dataclass(frozen=True)
class Difference:
    """A setting in the protocol and in these runs."""

    suite: str
    setting: str
    protocol: str
    here: str
    why: str


def schedule_text(suite: Suite, scale: Scale) -> str:
    """300 of 30000 iterations, 1 of 2 seeds"""
    lengths = [str(length) for length in scale.lengths(suite)]
    seeds, all_seeds = len(scale.seeds_of(suite)), len(suite.seeds)
    counted = f"{seeds} of {all_seeds}" if seeds != all_seeds else str(seeds)
    return ", ".join([*lengths, f"{counted} {'seed' if all_seeds == 1 else 'seeds'}"])


def protocol_differences(suites: Sequence[Suite], scale: Scale) -> list[Difference]:
    """The differences of all suites, each once."""
    return list(dict.fromkeys(one for suite in suites for one in differences_of(suite, scale)))


def differences_of(suite: Suite, scale: Scale) -> Iterator[Difference]:
    for cell in suite.cells:
        config, paper = scale.config(suite, cell, suite.seeds[0]), paper_config(cell, suite.seeds[0])
        for name in deviations(config, paper):
            yield Difference(
                suite.name, name, text(getattr(paper, name)), text(getattr(config, name)), why(suite, scale, name)
            )
    seeds = len(scale.seeds_of(suite))
    if seeds < len(suite.seeds):
        yield Difference(suite.name, "seeds", str(len(suite.seeds)), str(seeds), FEWER_SEEDS)


def text(value: Any) -> str:
    return "-" if value is None else str(value)


def why(suite: Suite, scale: Scale, name: str) -> str:
    if scale.name == "smoke":
        return STAND_IN
    return OF_THE_BUDGET if name in LENGTHS and not scale.is_fixed(suite) else OF_THE_SUITE


def protocol_table(found: Sequence[Difference], scale: Scale) -> Table:
    rows = [[Cell(getattr(one, name)) for name in COLUMNS] for one in found]
    notes = [f"At scale {scale.name}. The notes above say how we settled what the papers leave open."]
    return Table("Deviations from the protocol", COLUMNS, rows, notes, keys=2)


def protocol_records(found: Sequence[Difference], scale: Scale) -> Iterator[dict[str, Any]]:
    for one in found:
        yield {
            "suite": one.suite,
            "scale": scale.name,
            "setting": one.setting,
            "protocol": one.protocol,
            "here": one.here,
            "why": one.why,
        }
