"""A nightly suite as a value: the cells that a night measures, and how they are judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from normbench_cli.errors import UsageError
from normbench_cli.nightly.series import Kind
from normbench_cli.registry.spec import suggest

CellKind = Literal["train", "profile"]
KINDS: tuple[CellKind, ...] = get_args(CellKind)
MAX_REMEASUREMENTS = 20
REFERENCE = "batchnorm"  # what the norms of a profile are timed against


@dataclass(frozen=True)
class NightlyCell:
    """One cell of a suite: a training with a fixed seed, or a norm timed against `batchnorm`.

    settings: of the configuration.  shapes: inputs of a layer; a profile without shapes times the model's training
    step.  rounds: of a profile.
    """

    name: str
    kind: CellKind
    settings: Mapping[str, Any] = field(default_factory=dict)
    shapes: tuple[tuple[int, ...], ...] = ()
    rounds: int = 20


@dataclass(frozen=True)
class NightlySuite:
    """minimum_effects: by kind, the smallest change that counts, overriding the gate's own; see `gate.policy`.
    remeasurements: how often a suspected cell is measured again, at most; the gate may ask for less.  source: the file.
    """

    name: str
    cells: tuple[NightlyCell, ...]
    minimum_effects: Mapping[Kind, float] = field(default_factory=dict)
    remeasurements: int = MAX_REMEASUREMENTS
    source: str = ""

    def cell(self, name: str) -> NightlyCell:
        """The cell with this name; the UsageError suggests the nearest one."""
        for cell in self.cells:
            if cell.name == name:
                return cell
        raise UsageError(
            f"the suite {self.name} has no cell '{name}'", suggest(name, [cell.name for cell in self.cells])
        )


def cell_from(values: Mapping[str, Any]) -> NightlyCell:
    """A cell from its fields as read from JSON."""
    return NightlyCell(**{**values, "shapes": tuple(map(tuple, values["shapes"]))})


def cell_json(cell: NightlyCell) -> dict[str, Any]:
    return asdict(cell)
