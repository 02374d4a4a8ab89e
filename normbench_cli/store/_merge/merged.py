"""What a merge has added, for the command that prints it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Merged:
    """What a database gave: ids of runs that were added, and of those that were known and got more; how many rows of
    each table were added; what was left out.

    renamed: id in the source -> id here, of runs and nights that have another one here; moved: old -> new id of those
    of this database that an older one of the source has put in its place; folders: runs whose files were copied.
    """

    source: str
    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
