"""From what a night has measured to its findings: the gate judges, and what it suspects is measured again."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from normbench_cli.nightly.cell import NightlyCell, NightlySuite
from normbench_cli.nightly.gate import judge
from normbench_cli.nightly.series import Finding, Series
from normbench_cli.nightly.verdict import Judged

CONTROLS = 2  # cells that nobody suspects, measured again with the suspects
DISTURBED = "the machine was disturbed: {} left its band as well when it was measured again"


def judged(series: Sequence[Series]) -> list[Judged]:
    """Every measurement with what the gate says about its last point."""
    return [Judged(judge(one), one.points[-1].again, one.points[-1].environment_class) for one in series]


def suspects(found: Sequence[Judged]) -> list[str]:
    """The cells with a measurement that is suspected and not muted, each once."""
    suspected = (one for one in found if one.finding.status == "suspected" and one.muted is None)
    return list(dict.fromkeys(one.finding.measurement.cell for one in suspected))


def rounds_again(suite: NightlySuite, suspected: Sequence[str], measured: Sequence[str]) -> Iterator[list[NightlyCell]]:
    """The cells of each round of re-measurement: every suspect and some controls, in random order.

    measured: the cells that this night has measured.
    """
    shuffle = random.Random(0).shuffle
    unsuspected = [cell for cell in suite.cells if cell.name in measured and cell.name not in suspected]
    timed = sorted(unsuspected, key=lambda cell: cell.kind != "profile")[:CONTROLS]  # profiles show disturbances best
    for _ in range(suite.remeasurements):
        cells = [*(cell for cell in suite.cells if cell.name in suspected), *timed]
        shuffle(cells)
        yield cells


def judged_again(series: Sequence[Series], suspected: Sequence[str]) -> list[Judged]:
    """The verdict after the re-measurement.

    Where a control leaves its band, too, slow times say nothing about the code: they stay suspected.
    """
    found = judged(series)
    control = next((one for one in series if is_disturbed(one, suspected)), None)
    if control is None:
        return found
    reason = DISTURBED.format(control.measurement.name)
    return [replace(one, finding=unconfirmed(one.finding, reason)) if is_slow(one) else one for one in found]


def is_disturbed(series: Series, suspected: Sequence[str]) -> bool:
    """Whether the times of a control, as they are now, would be suspected."""
    *before, last = series.points
    if series.measurement.kind != "time" or series.measurement.cell in suspected or not last.again:
        return False
    now = replace(series, points=(*before, replace(last, value=median(last.again), again=())))
    return judge(now).status == "suspected"


def is_slow(one: Judged) -> bool:
    return one.finding.measurement.kind == "time" and one.finding.status == "regression"


def unconfirmed(finding: Finding, reason: str) -> Finding:
    return replace(finding, status="suspected", reason=reason)
