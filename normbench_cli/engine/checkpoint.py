"""A run's checkpoints: written aside, synced and renamed, so that a file is whole or not there; the last two are kept.

They are read without running any code that they may hold.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import torch

from normbench_cli.errors import NormbenchError, first_sentence

KEPT = 2
PATTERN = "checkpoint-*.pt"


def save(folder: Path, step: int, content: dict[str, Any]) -> Path:
    """Write the checkpoint of a step.  Older ones than the last two go, and what a process left that was killed: later
    ones, which cannot be whole or training would have gone on from them, and one that was being written."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"checkpoint-{step:09d}.pt"
    aside = path.with_suffix(".writing")
    with aside.open("wb") as file:
        torch.save(content, file)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
    sync_folder(folder)
    whole = [other for other in sorted(folder.glob(PATTERN)) if other <= path]
    for other in {*folder.glob(PATTERN), *folder.glob("*.writing")} - {*whole[-KEPT:]}:
        other.unlink()
    return path


def sync_folder(folder: Path) -> None:
    """Make the renaming last; not every system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        return
    finally:
        os.close(handle)


def load(folder: Path, device: torch.device) -> tuple[dict[str, Any], list[str]]:
    """The newest checkpoint that can be read, and a line about every newer one that cannot."""
    again = "train the run again with --rerun"
    found = sorted(folder.glob(PATTERN), reverse=True)
    if not found:
        raise NormbenchError(f"there is no checkpoint in {folder}", again)
    damaged: list[str] = []
    for path in found:
        try:
            return read(path, device), damaged
        except NormbenchError as error:
            damaged.append(str(error))
    raise NormbenchError("; ".join(damaged), f"the records are kept; {again}")


def read(path: Path, device: torch.device) -> dict[str, Any]:
    try:
        check_sums(path)
        content = torch.load(path, map_location=device, weights_only=True)
    except Exception as error:  # a damaged file can break its reader in any way; what it holds is never run
        raise NormbenchError(
            f"the checkpoint {path} is damaged or not one of ours ({first_sentence(error)})"
        ) from error
    if not isinstance(content, dict) or "model" not in content:
        raise NormbenchError(f"the checkpoint {path} is not one of ours")
    return content


def check_sums(path: Path) -> None:
    """Notice a damage that torch would read over: it writes a sum with each part of the file and never compares it."""
    with zipfile.ZipFile(path) as archive:
        if (part := archive.testzip()) is not None:
            raise ValueError(f"its part {part} is not what was written")
