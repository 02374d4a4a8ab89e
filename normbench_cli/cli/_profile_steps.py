"""What `normbench profile` prints about the steps of a model: which one, the norm's own share, the notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Row = dict[str, Any]
STEPS = {"train": "a training step", "eval": "forward in evaluation mode"}


def title_of(row: Row) -> str:
    """The model, its batch, and unusual options: model resnet20, batch of 128, eval."""
    unusual = [row[name] for name, usual in (("step", "train"), ("start", "warm")) if row[name] != usual]
    return ", ".join([f"model {row['model']}", f"batch of {row['batch_size']}", *unusual])


def what_is_timed(row: Row, passes: Mapping[str, str]) -> str:
    return STEPS[row["step"]] if "model" in row and "step" in row else passes[row.get("pass", "both")]


def share_cells(row: Row) -> dict[str, str]:
    """own share / none: 12.3 % [11.9, 12.8]."""
    if row.get("share") is None:
        return {}
    share, low, high = (100 * row[name] for name in ("share", "share_low", "share_high"))
    return {f"own share / {row['reference']}": f"{share:.1f} % [{low:.1f}, {high:.1f}]"}


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
