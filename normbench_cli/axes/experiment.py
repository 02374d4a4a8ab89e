"""An experiment: settings with one or several values each, and the configurations that they expand to.

The order of the grid's cells does not depend on the order in which settings are given: the axes norm, act, model, data,
objective vary slowest, then the other settings in the order of `normbench train --help`, the seed fastest.  Zipped axes
take the place of the first of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

from normbench_cli.axes.recipe_file import with_recipe_file
from normbench_cli.axes.values import pieces, read_pieces, setting_name
from normbench_cli.config import FIELDS, GRID_FIELDS, LENGTHS, RunConfig, make_config
from normbench_cli.errors import UsageError
from normbench_cli.registry.trust import USER

ORDER = (*GRID_FIELDS, *(name for name in FIELDS if name not in (*GRID_FIELDS, "seed")), "seed")
MOST_CELLS = 20_000
Zipped = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Experiment:
    """written: each setting's values as given, ranges as text.  zipped: axes that advance together."""

    written: Mapping[str, tuple[Any, ...]]
    zipped: Zipped = ()

    @cached_property
    def values(self) -> dict[str, list[Any]]:
        """Each setting's values, from the slowest-varying setting to the fastest."""
        return {name: read_pieces(name, self.written[name]) for name in ORDER if name in self.written}

    @property
    def axes(self) -> tuple[str, ...]:
        """The settings with several values."""
        return tuple(name for name, values in self.values.items() if len(values) > 1)

    @property
    def groups(self) -> list[tuple[str, ...]]:
        """Groups of settings that advance together; most have one member."""
        together = {name: group for group in self.zipped for name in group}
        return list(dict.fromkeys(together.get(name, (name,)) for name in self.values))

    def cells(self) -> list[dict[str, Any]]:
        """The settings of each cell."""
        self.check_zip()
        if (count := prod(len(self.values[group[0]]) for group in self.groups)) > MOST_CELLS:
            raise UsageError(f"the grid has {count:,} cells", f"give at most {MOST_CELLS:,}")
        steps = [list(zip(*(self.values[name] for name in group), strict=True)) for group in self.groups]
        names = [name for group in self.groups for name in group]
        return [
            dict(zip(names, (value for step in chosen for value in step), strict=True)) for chosen in product(*steps)
        ]

    def configs(self, allow: str | Iterable[str] = ()) -> list[RunConfig]:
        """The configuration of each cell.  Specs from files are checked where they are read.

        allow: packages that a recipe file may load, besides those that the user has permanently allowed.
        """
        return [make_config(with_recipe_file(cell, allow), USER) for cell in self.cells()]

    def check_zip(self) -> None:
        """Refuse zipped axes that cannot advance together."""
        for group in self.zipped:
            if missing := [name for name in group if name not in self.values]:
                raise UsageError(f"zip names {missing[0]}, which has no values", f"give {missing[0]} several values")
            lengths = {name: len(self.values[name]) for name in group}
            if len(set(lengths.values())) > 1:
                words = ", ".join(f"{name} has {length}" for name, length in lengths.items())
                raise UsageError(f"zipped axes differ in length: {words}", "give each the same number of values")

    def overridden(self, by: Experiment) -> Experiment:
        """This experiment with its settings overridden by those of another.

        A zipped axis that is set to one value leaves its zip, unless the other experiment has zips of its own.
        """
        dropped = {LENGTHS[name] for name in by.written if name in LENGTHS}
        kept = {name: given for name, given in self.written.items() if name not in dropped}
        fixed = {name for name, values in by.values.items() if len(values) == 1}
        left = (tuple(name for name in group if name not in fixed) for group in self.zipped)
        return Experiment({**kept, **by.written}, by.zipped or tuple(group for group in left if len(group) > 1))


def make_experiment(given: Mapping[str, Any], zipped: Any = ()) -> Experiment:
    """Make an experiment from setting names and their values: text, numbers, or lists of them."""
    return Experiment({name: pieces(name, value) for name, value in named(given).items()}, read_zip(zipped))


def named(given: Mapping[str, Any]) -> dict[str, Any]:
    """Convert keys to setting names; raise if a setting is given under two names."""
    found: dict[str, Any] = {}
    for key, value in given.items():
        name = setting_name(key)
        if name in found:
            raise UsageError(f"{name} is given twice, as '{key}' too", "give it once")
        found[name] = value
    return found


def read_zip(given: Any) -> Zipped:
    """Parse groups of names: ``"lr,batch_size"``, ``["lr,batch_size"]`` or ``[["lr", "batch_size"]]``."""
    given = [given] if isinstance(given, str) else given
    if not is_list(given) or not all(isinstance(group, str) or is_list(group) for group in given):
        raise UsageError(f"zip is {given!r}", 'write zip = [["lr", "batch_size"]]')
    groups = tuple(map(read_group, given))
    names = [name for group in groups for name in group]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"zip names {twice[0]} twice", "name it once")
    return groups


def read_group(given: str | Iterable[Any]) -> tuple[str, ...]:
    keys = given.split(",") if isinstance(given, str) else [str(key) for key in given]
    group = tuple(setting_name(key.strip()) for key in keys)
    if len(group) < 2:
        raise UsageError(f"zip names {' '.join(group) or 'nothing'} alone", "name two settings or more: lr,batch_size")
    return group


def is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
