"""The result of a merge, for the command that prints it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Merged:
    """What a source contributed: ids of added runs, and of present runs that were updated; the number of rows added to
    each table; what was left out.

    renamed: id in the source -> id here, of runs and nights that were renamed; moved: old -> new id of this database's
    own that gave up their id to an older one from the source; folders: runs whose files were copied.
    """

    source: str
    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
