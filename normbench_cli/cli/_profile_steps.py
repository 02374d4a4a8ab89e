"""What `normbench profile` prints about the steps of a model: which one, and the notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from normbench_cli.reporting.profiles.cells import unusual

Row = dict[str, Any]
STEPS = {"train": "a training step", "eval": "forward in evaluation mode"}


def title_of(row: Row) -> str:
    """The model, its batch, and unusual options: model resnet20, batch of 128, eval."""
    return ", ".join([f"model {row['model']}", f"batch of {row['batch_size']}", *unusual(row)])


def what_is_timed(row: Row, passes: Mapping[str, str]) -> str:
    return STEPS[row["step"]] if "model" in row and "step" in row else passes[row.get("pass", "both")]


def notes(results: Sequence[Row]) -> list[str]:
    """Notes on how to read these columns."""
    found = []
    if any(row.get("share") is not None for row in results):
        found.append("own share: (time - time of the reference) / time, the part of the step that the norm costs more.")
    found += [
        f"{row['shape']}: the values of {row['layer']} in run {row['run']}, batch {row['batch']}."
        for row in results
        if "layer" in row
    ]
    return list(dict.fromkeys(found))
