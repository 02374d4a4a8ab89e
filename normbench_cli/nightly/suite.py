"""A nightly suite: the cells that a night measures, and how they are judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from normbench_cli.errors import UsageError
from normbench_cli.nightly.series import Kind

FOLDER = Path(__file__).parent / "suites"


@dataclass(frozen=True)
class NightlyCell:
    """One thing that is measured: a training with a fixed seed, or a norm timed against `batchnorm`.

    settings: of the configuration.  shapes: of the input of a layer; a profile without shapes times the training step
    of the model.
    """

    name: str
    kind: Literal["train", "profile"]
    settings: Mapping[str, Any] = field(default_factory=dict)
    shapes: tuple[tuple[int, ...], ...] = ()
    rounds: int = 20


@dataclass(frozen=True)
class NightlySuite:
    """minimum_effects: by kind, the smallest relative change that counts; passed on to the gate.  remeasurements: how
    often a suspected cell is measured again.  source: the file."""

    name: str
    cells: tuple[NightlyCell, ...]
    minimum_effects: Mapping[Kind, float] = field(default_factory=dict)
    remeasurements: int = 3
    source: str = ""

    def cell(self, name: str) -> NightlyCell:
        """The cell with this name, or a UsageError with the nearest one."""
        raise NotImplementedError


def suite_names() -> list[str]:
    """The built-in suites."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def read_suite(name_or_file: str) -> NightlySuite:
    """A built-in suite by its name, or one's own by the path of its file."""
    raise UsageError(name_or_file)
