"""A run's checkpoint: written aside and renamed, so that a file is whole or not there; read without running code."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch

from normbench_cli.errors import NormbenchError

NAME = "checkpoint.pt"


def save(folder: Path, content: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    aside = path.with_suffix(".writing")
    with aside.open("wb") as file:
        torch.save(content, file)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
    return path


def load(folder: Path, device: torch.device) -> dict[str, Any]:
    path = folder / NAME
    again = "train the run again with --rerun"
    if not path.exists():
        raise NormbenchError(f"there is no checkpoint at {path}", again)
    try:
        return torch.load(path, map_location=device, weights_only=True)
    except Exception as error:  # a damaged file can break its reader in any way; what it holds is never run
        raise NormbenchError(
            f"the checkpoint {path} is damaged or not one of ours ({first_words(error)})", again
        ) from error


def first_words(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].partition(". ")[0][:120]
