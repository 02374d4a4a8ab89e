"""`profile --compare RUN`: this profile against an earlier one, cell by cell.

A cell is a norm at a place: a shape with its type, memory format, call and pass, or a model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from normbench_cli.errors import NormbenchError, UsageError
from normbench_cli.local_time import local_time
from normbench_cli.reporting.document import Cell, Document, Figure, Paragraph, Table
from normbench_cli.reporting.profiles.calibrated import ratio_between, speed_ratio
from normbench_cli.reporting.profiles.differences import differences
from normbench_cli.reporting.profiles.recorded import Profile, places_of, read_profiles, samples_of
from normbench_cli.store import Store

SPEED = 0.15  # the calibrations of comparable profiles agree to this fraction
NOTES = (
    "now / then: median over all pairs of rounds of the times in calibrations, 95 % interval of Mann and Whitney's"
    " test; a fixed piece of work was timed in both profiles, so that a slower machine is no slower norm.",
    "The two did not take turns: what differs between processes, such as where tensors lie, may make some per cent.",
)


@dataclass(frozen=True)
class ProfileComparison:
    """rows: norm, at, now_ms, then_ms, ratio, ratio_low, ratio_high, calibration (now / then)."""

    run: str
    then: Profile
    rows: list[dict[str, Any]]
    differences: list[dict[str, str]]

    def to_json(self) -> dict[str, Any]:
        runs = {"given": self.run, "runs": dict(self.then.runs), "started_at": self.then.started}
        return {"then": runs, "differences": self.differences, "rows": self.rows}


def find_profile(store: Store, text: str) -> Profile:
    """The profile of the run with this id or id prefix."""
    run = store.find(text)
    if run.kind != "profile":
        raise UsageError(
            f"--compare {text}: run {run.id} is no profile", "`normbench report --kind profile` shows some"
        )
    for profile in read_profiles(store):
        if run.id in profile.runs.values():
            return profile
    raise UsageError(f"--compare {text}: profile {run.id} is {run.status}", "name one that is finished")


def check_comparable(store: Store, then: Profile, norms: Collection[str], places: Collection[str]) -> None:
    """Raise, before anything is measured, if the two have no cell in common."""
    known = {(norm, place) for norm, run_id in then.runs.items() for place in places_of(store, run_id)}
    if not any(norm in norms and place in places for norm, place in known):
        measured = ", ".join(sorted({place for _, place in known})) or "nothing"
        raise UsageError("--compare: the earlier profile has no norm and shape in common", f"it measured {measured}")


def compare_profiles(store: Store, now: Mapping[str, str], then: Profile, run: str) -> ProfileComparison:
    """now: the runs of this profile by norm.  run: the earlier one as given by the user."""
    this = next((one for one in read_profiles(store) if set(one.runs.values()) & set(now.values())), None)
    if this is None:
        raise NormbenchError("nothing of this profile is recorded to be compared", "see `normbench runs list`")
    rows = [row for norm in now if norm in then.runs for row in cells(store, norm, now[norm], then.runs[norm])]
    return ProfileComparison(run, then, rows, differences(this, then, {row["at"] for row in rows}))


def cells(store: Store, norm: str, now: str, then: str) -> Iterator[dict[str, Any]]:
    earlier = set(places_of(store, then))
    for place in places_of(store, now):
        if place in earlier:
            own, base = samples_of(store, now, place), samples_of(store, then, place)
            ratio, low, high = ratio_between(own, base)
            medians = {"now_ms": float(np.median(own.times)), "then_ms": float(np.median(base.times))}
            ratios = {"ratio": ratio, "ratio_low": low, "ratio_high": high, "calibration": speed_ratio(own, base)}
            yield {"norm": norm, "at": place, **medians, **ratios}


def to_document(made: ProfileComparison) -> Document:
    when = f"{local_time(made.then.started):%Y-%m-%d %H:%M}"
    runs = " ".join(made.then.runs.values())
    blocks: list[Table | Figure | Paragraph] = [
        Paragraph(f"Compared with the profile of {when} ({runs}).  {remark(made)}")
    ]
    if made.differences:
        rows = [[Cell(one["name"]), Cell(one["then"]), Cell(one["now"])] for one in made.differences]
        blocks.append(Table("What differs", ["", "then", "now"], rows))
    rows = [row_of(row) for row in made.rows]
    columns = ["norm", "at", "now ms", "then ms", "now / then", "verdict", "calibration now / then"]
    blocks.append(Table("Now and then", columns, rows, list(notes(made)), keys=2))
    return Document("normbench profile --compare", {}, blocks, records=made.rows)


def remark(made: ProfileComparison) -> str:
    """Whether the two can be compared, in one sentence."""
    names = [one["name"] for one in made.differences if one["name"] != "git_sha"]
    if not names:
        return "Machine, versions, threads and settings are the same."
    return f"Not the same: {', '.join(names)}; a ratio may come from that."


def notes(made: ProfileComparison) -> Iterator[str]:
    yield from NOTES
    if any(row["calibration"] != row["calibration"] for row in made.rows):
        yield "Without a calibration, which a profile does not have, the ratio is that of the times themselves."
    if any(abs(row["calibration"] - 1) > SPEED for row in made.rows):
        yield f"The calibrations differ by more than {SPEED:.0%}: the machine was busier in one, or is another."


def row_of(row: Mapping[str, Any]) -> list[Cell]:
    return [
        Cell(row["norm"]),
        Cell(row["at"]),
        Cell(f"{row['now_ms']:.3f}", row["now_ms"]),
        Cell(f"{row['then_ms']:.3f}", row["then_ms"]),
        Cell(f"{row['ratio']:.2f} [{row['ratio_low']:.2f}, {row['ratio_high']:.2f}]", row["ratio"]),
        verdict(row),
        Cell("-")
        if row["calibration"] != row["calibration"]
        else Cell(f"{row['calibration']:.2f}", row["calibration"]),
    ]


def verdict(row: Mapping[str, Any]) -> Cell:
    if row["ratio_low"] > 1:
        return Cell("slower", tone="bad")
    return Cell("faster", tone="good") if row["ratio_high"] < 1 else Cell("-")
