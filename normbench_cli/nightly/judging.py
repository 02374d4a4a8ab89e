"""From a night's measurements to its findings: the gate judges, and suspects are measured again."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from statistics import median

from normbench_cli.nightly import gate
from normbench_cli.nightly.cell import NightlyCell, NightlySuite
from normbench_cli.nightly.gate.policy import FAR
from normbench_cli.nightly.series import Finding, Series
from normbench_cli.nightly.verdict import Judged

FEWEST = 3  # repetitions of a control needed to judge the machine: in the first rounds
CONTROLS = 2  # unsuspected cells, measured again with the suspects
DISTURBED = "the machine was disturbed: {} left its band as well when it was measured again"


def judged(suite: NightlySuite, series: Sequence[Series]) -> list[Judged]:
    """Every measurement with the gate's finding about its last point."""
    effects = suite.minimum_effects
    return [Judged(gate.judge(one, effects), one.points[-1].again, one.points[-1].environment_class) for one in series]


def suspects(suite: NightlySuite, series: Sequence[Series], muted: Collection[str] = ()) -> list[str]:
    """The cells that the gate wants measured once more, each once, the farthest outside its band first.

    muted: names of measurements to ignore.
    """
    effects = suite.minimum_effects
    wanted = [one for one in series if one.measurement.name not in muted and gate.suspects(one, effects)]
    wanted.sort(key=lambda one: distance(gate.judge(one, effects)), reverse=True)
    return list(dict.fromkeys(one.measurement.cell for one in wanted))


def distance(finding: Finding) -> float:
    """How far a value is from the expected one, in half-widths of its band."""
    half_width = (finding.high - finding.low) / 2
    return abs(finding.value - finding.expected) / half_width if half_width > 0 else float("inf")


def affordable(
    suspected: Sequence[str], repeated: Mapping[str, int], seconds: Mapping[str, float], left: float
) -> list[str]:
    """The suspects of a round that fit into the seconds left: those already repeated continue, others need time for all
    the first repetitions, which decide.  repeated: how often each was measured again."""
    chosen = []
    for name in sorted(suspected, key=lambda name: name not in repeated):
        needed = seconds[name] * max(1, gate.FIRST_REMEASUREMENTS - repeated.get(name, 0))
        if needed <= left:
            chosen.append(name)
            left -= needed
    return chosen


def controls(suite: NightlySuite, suspected: Collection[str], measured: Collection[str]) -> list[str]:
    """Unsuspected cells that are measured again with the suspects, to check the machine.

    measured: the cells measured in this night.
    """
    others = [cell for cell in suite.cells if cell.name in measured and cell.name not in suspected]
    return [cell.name for cell in sorted(others, key=lambda cell: cell.kind != "profile")[:CONTROLS]]


def next_round(suite: NightlySuite, names: Collection[str], repeat: int) -> list[NightlyCell]:
    """The cells of a round of re-measurement, shuffled."""
    cells = [cell for cell in suite.cells if cell.name in names]
    random.Random(repeat).shuffle(cells)
    return cells


def judged_again(suite: NightlySuite, series: Sequence[Series], controls: Collection[str]) -> list[Judged]:
    """The findings after the re-measurement.

    If a control leaves its band, too, slow times say nothing about the code: they stay suspected.
    """
    found = judged(suite, series)
    moved = next((one for one in series if one.measurement.cell in controls and has_moved(suite, one)), None)
    if moved is None:
        return found
    reason = DISTURBED.format(moved.measurement.name)
    return [replace(one, finding=unconfirmed(one.finding, reason)) if is_new_and_slow(one) else one for one in found]


def has_moved(suite: NightlySuite, series: Series) -> bool:
    """Whether a control is as far out as the gate requires of a suspect: many leave their band by chance alone."""
    again = series.points[-1].again
    if series.measurement.kind != "time" or len(again) < FEWEST:
        return False
    finding = gate.judge(series, suite.minimum_effects)
    return median(again) - finding.expected > FAR * (finding.high - finding.expected)


def is_new_and_slow(one: Judged) -> bool:
    """A slow time that no earlier night has reported."""
    return one.finding.measurement.kind == "time" and one.finding.status == "regression" and not one.finding.known


def unconfirmed(finding: Finding, reason: str) -> Finding:
    return replace(finding, status="suspected", reason=reason)
