"""asv's and Otava's step detection over histories; runs in an interpreter that has one of them, without normbench.

Reads {"tool": name, "histories": [{"values": [...], "nights": [...]}, ...]} from stdin.  Prints, for every history and
each of its nights, the indexes at which the tool sees the level rise, given the values up to that night.
"""

from __future__ import annotations

import json
import sys

ASV_THRESHOLD = 0.05  # asv's default regressions_thresholds


def rises_by_asv(values: list[float]) -> list[int]:
    from asv.step_detect import detect_regressions, detect_steps  # type: ignore[import-not-found, unused-ignore]

    _, _, jumps = detect_regressions(detect_steps(values), ASV_THRESHOLD)
    return [int(jump[1]) for jump in jumps or []]


def rises_by_otava(values: list[float]) -> list[int]:
    from otava.analysis import compute_change_points  # type: ignore[import-not-found, unused-ignore]

    try:
        found, _ = compute_change_points(values)
    except ValueError:  # it raises one, without a message, for some short histories
        return []
    return [int(point.index) for point in found if point.stats.mean_2 > point.stats.mean_1]


def main() -> None:
    job = json.load(sys.stdin)
    rises = {"asv": rises_by_asv, "otava": rises_by_otava}[job["tool"]]
    found = [[rises(one["values"][: night + 1]) for night in one["nights"]] for one in job["histories"]]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
