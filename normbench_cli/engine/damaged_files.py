"""Image files found damaged during a run: each is reported once by name, and all are counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from normbench_cli.engine.events import Notice
from normbench_cli.engine.protocols import Batches, ReadsFiles


class HasSplits(Protocol):
    """The splits of a training run, and the damaged files reported so far, each with the reason."""

    train: Batches
    test: Batches
    validation: Batches | None
    reported: dict[str, str]


def damaged_files(training: HasSplits) -> dict[str, str]:
    """All damaged files so far, and why each cannot be read."""
    found = dict(training.reported)
    for split in (training.train, training.validation, training.test):
        if isinstance(split, ReadsFiles):
            found |= split.damaged
    return found


def damage_metrics(training: HasSplits) -> dict[str, float]:
    """How many files are damaged; empty if training reads no files."""
    return {"data/damaged_images": len(damaged_files(training))} if isinstance(training.train, ReadsFiles) else {}


def new_damage(training: HasSplits) -> Iterator[Notice]:
    """Yield a notice about each damaged file that was not reported before."""
    for path, why in damaged_files(training).items():
        if path not in training.reported:
            training.reported[path] = why
            yield Notice(f"{path} cannot be read as an image and is left out ({why})")
