"""Reading a nightly suite from TOML.  Errors name the file, the key and the nearest valid one.

    title, remeasurements           a description; how often a suspected cell is measured again, at most
    [minimum_effects]               time, memory, solver: the smallest fraction that counts; accuracy: the difference
    [settings]                      of every cell
    [train.NAME]                    a training: settings; the seed is fixed (0)
    [profile.NAME]                  settings, rounds, and shapes of layers; without shapes, a training step of the model

A list `norms` makes one cell per norm: NAME/NORM.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

from normbench_cli.errors import UsageError
from normbench_cli.nightly.cell import KINDS, MAX_REMEASUREMENTS, NightlyCell, NightlySuite
from normbench_cli.nightly.read_cells import SETTINGS, read_cells, whole_number
from normbench_cli.nightly.series import Kind
from normbench_cli.paths import expanded
from normbench_cli.registry.spec import suggest
from normbench_cli.registry.trust import recorded_in
from normbench_cli.suites.checks import check_keys, check_table, check_types
from normbench_cli.suites.read import read_toml

FOLDER = Path(__file__).parent / "suites"

__all__ = ["NightlyCell", "NightlySuite", "find_suite", "own_file", "read_suite", "suite_names"]


def suite_names() -> list[str]:
    """The built-in suites."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def find_suite(name_or_file: str) -> Path:
    """The file of a built-in suite, or the given path."""
    if name_or_file in suite_names():
        return FOLDER / f"{name_or_file}.toml"
    if name_or_file.endswith(".toml"):
        return Path(name_or_file)
    do = suggest(name_or_file, suite_names()) + ", or give the path of a .toml"
    raise UsageError(f"there is no nightly suite '{name_or_file}'", do)


def own_file(suite: NightlySuite) -> str:
    """The absolute path of a user's own suite file; empty for a built-in suite."""
    source = expanded(suite.source).absolute()
    return "" if source.parent == FOLDER else str(source)


def read_suite(name_or_file: str, allow: str | Iterable[str] = ()) -> NightlySuite:
    """Read a built-in suite by its name, or a user's own by its path; the stem of the file becomes its name.

    allow: packages outside normbench that its specs may load, besides those that are allowed permanently.
    """
    path = find_suite(name_or_file)
    where, content = str(path), read_toml(path)
    check_keys(content, ("title", "remeasurements", "minimum_effects", "settings", *KINDS), where)
    check_types({"title": content.get("title", "")}, where)
    shared = content.get("settings", {})
    check_table(shared, "settings", where)
    check_keys(shared, SETTINGS, f"{where}: settings")
    trust = recorded_in(where, allow)
    cells = tuple(cell for kind in KINDS for cell in read_cells(content.get(kind, {}), kind, shared, trust, where))
    if not cells:
        raise UsageError(f"{where} has no cells", "write [train.NAME] or [profile.NAME]")
    names = [cell.name for cell in cells]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{where}: two cells are called '{name}'", "give one another name")
    return NightlySuite(
        name=path.stem,
        cells=cells,
        minimum_effects=read_effects(content.get("minimum_effects", {}), where),
        remeasurements=whole_number(
            content.get("remeasurements", MAX_REMEASUREMENTS), "remeasurements", MAX_REMEASUREMENTS, where
        ),
        source=where,
    )


def read_effects(table: Any, where: str) -> dict[Kind, float]:
    check_table(table, "minimum_effects", where)
    check_keys(table, get_args(Kind), f"{where}: minimum_effects")
    for kind, effect in table.items():
        if type(effect) not in (int, float) or not 0 <= effect < 1:
            raise UsageError(f"{where}: minimum_effects: {kind} is {effect!r}", "write a fraction such as 0.05")
    return {kind: float(effect) for kind, effect in table.items()}
