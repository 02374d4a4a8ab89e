"""Image files that turn out to be damaged while a run reads them: each is reported once by name, all are counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from normbench_cli.engine.events import Notice
from normbench_cli.engine.protocols import Batches


class HasSplits(Protocol):
    """The splits of a training run, and the damaged files that were reported so far, with the reason."""

    train: Batches
    test: Batches
    validation: Batches | None
    reported: dict[str, str]


def damaged_files(training: HasSplits) -> dict[str, str]:
    """All damaged files so far, and why each cannot be read."""
    splits = (training.train, training.validation, training.test)
    return training.reported | {path: why for split in splits if split for path, why in (split.damaged or {}).items()}


def damage_metrics(training: HasSplits) -> dict[str, float]:
    """How many files are damaged; empty if training reads no files."""
    return {} if training.train.damaged is None else {"data/damaged_images": len(damaged_files(training))}


def new_damage(training: HasSplits) -> Iterator[Notice]:
    """A notice of each damaged file that was not reported before."""
    for path, why in damaged_files(training).items():
        if path not in training.reported:
            training.reported[path] = why
            yield Notice(f"{path} cannot be read as an image and is left out ({why})")
