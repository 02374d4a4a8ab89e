"""POP-Norm's study in reports/reproduction: numbers of its recorded runs, read from the csv files of the pages."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tests.docs.tables import REPORTS, records

FOLDER = REPORTS / "reproduction"
NORMS = ("BatchNorm", "POP-Norm")
ACTS = ("Sigmoid", "Tanh")
WIDTH = 118  # characters of a line


class Study(NamedTuple):
    """A suite of POP-Norm's open choices, at a scale."""

    page: Path
    suite: str


SHORT, FULL = (FOLDER / f"reproduce-popnorm-setting-{end}.csv" for end in ("short", "resnet20-weights-full"))
RESNET20, VGG16 = (Study(SHORT, f"popnorm-setting/{net}") for net in ("resnet20", "vgg16"))
WHOLE = Study(FULL, "popnorm-setting/resnet20-weights")


def scores(study: Study, column: str) -> dict[str, float]:
    rows = [row for row in measured(study) if row["column"] == column]
    return {row["row"]: float(row["ours"]) for row in rows}


def conditions(study: Study) -> str:
    """300 of 30000 iterations, n=1"""
    rows = measured(study)
    return f"{rows[0]['schedule']}, n={'/'.join(sorted({row['n'] for row in rows}))}"


def measured(study: Study) -> list[dict[str, str]]:
    if not study.page.exists():
        return []
    return [row for row in records(study.page) if row["suite"] == study.suite and row.get("ours")]


def range_of(values: list[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f} %"
