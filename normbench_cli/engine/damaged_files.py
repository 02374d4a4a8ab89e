"""Image files that turn out to be damaged while a run reads them: told once by name, counted on the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from normbench_cli.engine.events import Batches, Notice


class Reads(Protocol):
    """What is needed of a run: its splits, and the damaged files that were told of, with the reason."""

    train: Batches
    test: Batches
    validation: Batches | None
    told: dict[str, str]


def damaged_files(run: Reads) -> dict[str, str]:
    """All that were met so far, and why each cannot be read."""
    splits = (run.train, run.validation, run.test)
    return run.told | {path: why for split in splits if split for path, why in (split.damaged or {}).items()}


def damage_metrics(run: Reads) -> dict[str, float]:
    """How many there are; nothing where no file is read while training."""
    return {} if run.train.damaged is None else {"data/damaged_images": len(damaged_files(run))}


def new_damage(run: Reads) -> Iterator[Notice]:
    """A sentence for each that was not told of yet."""
    for path, why in damaged_files(run).items():
        if path not in run.told:
            run.told[path] = why
            yield Notice(f"{path} cannot be read as an image and is left out ({why})")
