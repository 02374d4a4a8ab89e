"""Reading the tables `train` and `profile` of a suite's file: their cells, each of them checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from normbench_cli.config import FIELDS, make_config
from normbench_cli.errors import UsageError
from normbench_cli.nightly.cell import CellKind, NightlyCell
from normbench_cli.registry import NORMS
from normbench_cli.registry.trust import Trust
from normbench_cli.suites.checks import check_keys, check_table

SETTINGS = tuple(name for name in FIELDS if name not in ("tag", "note"))
OWN: dict[CellKind, tuple[str, ...]] = {"train": ("norms",), "profile": ("norms", "shapes", "rounds")}
MOST_NUMBERS = 2**28  # in a layer's input: 1 GiB
MOST_ROUNDS = 1000


def read_cells(
    tables: Any, kind: CellKind, shared: Mapping[str, Any], trust: Trust, where: str
) -> Iterator[NightlyCell]:
    check_table(tables, kind, where)
    for name, table in tables.items():
        place = f"{where}: {kind}.{name}"
        check_table(table, f"{kind}.{name}", where)
        check_keys(table, (*OWN[kind], *SETTINGS), place)
        if not name.strip() or name != " ".join(name.split()):
            raise UsageError(f"{place} is not a name", "write words that one blank separates")
        own = {key: value for key, value in table.items() if key not in OWN[kind]}
        settings = {"seed": 0, **shared, **own}
        for norm in norms_of(table, settings, place):
            cell = NightlyCell(
                name=f"{name}/{norm}" if "norms" in table else name,
                kind=kind,
                settings=settings | ({"norm": norm} if norm else {}),
                shapes=shapes_of(table.get("shapes", []), place),
                rounds=whole_number(table.get("rounds", 20), "rounds", MOST_ROUNDS, place, least=5),
            )
            yield checked(cell, trust, place)


def norms_of(table: Mapping[str, Any], settings: Mapping[str, Any], place: str) -> list[str]:
    """The norms of a table's cells; an empty string stands for the configuration's default."""
    norms = table.get("norms", [settings.get("norm", "")])
    if not isinstance(norms, list) or not norms or not all(isinstance(norm, str) for norm in norms):
        raise UsageError(f"{place}: norms is {norms!r}", 'write norms = ["popnorm", "augnorm"]')
    if "norms" in table and "norm" in table:
        raise UsageError(f"{place} has norm and norms", "write one of them")
    return norms


def shapes_of(texts: Any, place: str) -> tuple[tuple[int, ...], ...]:
    do = 'write shapes = ["32x64x16x16"]'
    if not isinstance(texts, list):
        raise UsageError(f"{place}: shapes is {texts!r}", do)
    shapes = []
    for text in texts:
        sizes = text.split("x") if isinstance(text, str) else []
        if len(sizes) < 2 or not all(size.isascii() and size.isdigit() and len(size) < 10 for size in sizes):
            raise UsageError(f"{place}: {text!r} is not a shape", do)
        shape = tuple(map(int, sizes))
        if not 0 < prod(shape) <= MOST_NUMBERS:
            raise UsageError(f"{place}: {text} has {prod(shape):,} numbers", f"give 1 to {MOST_NUMBERS:,}")
        shapes.append(shape)
    return tuple(shapes)


def whole_number(value: Any, key: str, most: int, place: str, least: int = 1) -> int:
    if type(value) is not int or not least <= value <= most:
        raise UsageError(f"{place}: {key} is {value!r}", f"write a whole number from {least} to {most}")
    return value


def checked(cell: NightlyCell, trust: Trust, place: str) -> NightlyCell:
    """The cell, if its settings are a configuration that its kind can measure."""
    try:
        config = make_config(cell.settings, trust)
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from error
    if cell.shapes and NORMS.parse_norm(config.norm).weight_norms:
        do = "profile the training step, without shapes"
        raise UsageError(f"{place}: {config.norm} acts on weights and is no layer of its own", do)
    return cell
