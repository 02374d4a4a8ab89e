"""Checkpoints of a run.

A checkpoint is written to a temporary file, synced and then renamed, so it is complete or does not exist.  The last two
are kept: if the newest is damaged, the run continues from the one before.  Loading one never executes code from it.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import torch

from normbench_cli.disk import UNFINISHED, sync_folder, write_whole
from normbench_cli.errors import NormbenchError, first_sentence

KEPT = 2
PATTERN = "checkpoint-*.pt"


def save(folder: Path, step: int, content: dict[str, Any]) -> Path:
    """Write the checkpoint of a step, and remove all others except the previous one.

    Leftovers of a killed process are removed too: unfinished files, and checkpoints of later steps, which must be
    damaged, since the run would otherwise have continued from them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"checkpoint-{step:09d}.pt"
    write_whole(path, lambda file: torch.save(content, file), sync=True)
    sync_folder(folder)
    up_to_this = [other for other in sorted(folder.glob(PATTERN)) if other <= path]
    for other in {*folder.glob(PATTERN), *folder.glob(f"*{UNFINISHED}")} - {*up_to_this[-KEPT:]}:
        other.unlink()
    return path


def load(folder: Path, device: torch.device) -> tuple[dict[str, Any], list[str]]:
    """Return the newest readable checkpoint, and a message about each newer one that is damaged."""
    hint = "train the run again with --rerun"
    paths = sorted(folder.glob(PATTERN), reverse=True)
    if not paths:
        raise NormbenchError(f"there is no checkpoint in {folder}", hint)
    damaged: list[str] = []
    for path in paths:
        try:
            return read(path, device), damaged
        except NormbenchError as error:
            damaged.append(str(error))
    raise NormbenchError("; ".join(damaged), f"the records are kept; {hint}")


def read(path: Path, device: torch.device) -> dict[str, Any]:
    """Return the content of a checkpoint, with tensors on the device."""
    try:
        verify_checksums(path)
        content = torch.load(path, map_location=device, weights_only=True)  # unpickles no classes, so it runs no code
    except Exception as error:  # a damaged file can raise anything
        message = f"the checkpoint {path} is damaged or not a normbench checkpoint ({first_sentence(error)})"
        raise NormbenchError(message) from error
    if not isinstance(content, dict) or "model" not in content:
        raise NormbenchError(f"the checkpoint {path} is not a normbench checkpoint")
    return content


def verify_checksums(path: Path) -> None:
    """Raise if a part of the file does not match its CRC-32.  torch writes these checksums but never verifies them, so
    it would load damaged weights without an error."""
    with zipfile.ZipFile(path) as archive:
        if (part := archive.testzip()) is not None:
            raise ValueError(f"the checksum of its part {part} does not match")
