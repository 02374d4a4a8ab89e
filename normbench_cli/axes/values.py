"""The values of one setting, from the command line, a file or Python.

Text is split at its commas, like an option's argument; a list is like a repeated option.  A comma inside a value is
escaped with a backslash.  Settings that do not affect a result, such as tag and note, take one value, commas included.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from types import UnionType
from typing import Any, Union, get_args, get_origin

from normbench_cli.axes.ranges import is_range, read_range, read_whole_range
from normbench_cli.config import FIELDS, IDENTITY, REGISTRIES, TYPES
from normbench_cli.errors import UsageError
from normbench_cli.registry import NORMS, Registry
from normbench_cli.registry.spec import (
    format_value,
    join_spec,
    read_value,
    split_commas,
    split_joined,
    split_list,
    split_spec,
    suggest,
)
from normbench_cli.registry.trust import USER, Trust
from normbench_cli.seeds import parse_seeds

SEVERAL = frozenset({*IDENTITY, "recipe"})  # settings that take several values
SEEDS = "seeds"  # an alias of the setting `seed`


def setting_name(key: str) -> str:
    """The setting that an option or a key names: ``batch-size`` is ``batch_size``."""
    name = "seed" if key == SEEDS else key.replace("-", "_")
    if name not in FIELDS:
        raise UsageError(f"there is no setting '{key}'", suggest(key, [*FIELDS, SEEDS]))
    return name


def pieces(name: str, given: Any) -> tuple[Any, ...]:
    """Split the input for a setting at its commas; ranges are left as they are."""
    single = isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable)
    listed = [given] if single else list(given)
    found = [piece for one in listed for piece in (split(name, one) if isinstance(one, str) else [plain(one)])]
    if not found or any(isinstance(one, str) and not split(name, one) for one in listed):
        kind = REGISTRIES[name].kind if name in REGISTRIES else "value"
        raise UsageError(f"{name} is empty", f"{'give' if kind == 'value' else 'name'} a {kind}, or leave it out")
    if len(found) > 1 and name not in SEVERAL:
        raise UsageError(f"{name} has {len(found)} values, and a run's result does not depend on it", "give one")
    return tuple(found)


def split(name: str, text: str) -> list[str]:
    if name in REGISTRIES:
        return split_list(text)
    if name not in SEVERAL or name == "seed":  # seeds are split where they are read
        return [text]
    return [piece.strip() for piece in split_commas(text) if piece.strip()]


def plain(value: Any) -> Any:
    """Convert a numpy or torch scalar to a Python number."""
    return value.item() if hasattr(value, "item") else value


def read_pieces(name: str, given: Iterable[Any], trust: Trust = USER) -> list[Any]:
    """The values of a setting, with ranges expanded and numbers checked.

    trust: what may be imported for specs; `USER` for specs written by the user.
    """
    if name == "seed":
        return read_seeds(given)
    return [value for piece in given for value in read_piece(name, piece, trust)]


def read_piece(name: str, piece: Any, trust: Trust) -> list[Any]:
    if name in REGISTRIES:
        return read_specs(name, piece, trust)
    kind = number_type(TYPES[name])
    if isinstance(piece, str) and kind and is_range(piece):
        found: list[Any] = [*(read_whole_range if kind is int else read_range)(piece, name)]
    else:
        found = [piece.replace("\\,", ",") if isinstance(piece, str) and name == "recipe" else piece]
    return [read_setting(name, value) for value in found]


def read_setting(name: str, value: Any) -> Any:
    """Convert a value of a setting that is not a component to the setting's type, and check its bounds."""
    found = read_value(value, TYPES[name], name)
    if TYPES[name] is float:  # 1 and 1.0 are the same value
        try:
            found = float(found)
        except OverflowError:
            raise UsageError(f"{name} is too large for a number", "give a smaller one") from None
    FIELDS[name].metadata["bounds"].check(name, found)
    return found


def read_seeds(given: Iterable[Any]) -> list[int]:
    """Read seeds from numbers and text such as ``0-9``, without duplicates."""
    found: list[int] = []
    for piece in given:
        found += parse_seeds([piece]) if isinstance(piece, str) else [read_setting("seed", piece)]
    return [read_setting("seed", seed) for seed in dict.fromkeys(found)]


def read_specs(name: str, text: Any, trust: Trust) -> list[str]:
    """The specs of a component whose parameters may be ranges: ``augnorm:phi=1.1..1.9/5`` gives five."""
    registry = REGISTRIES[name]
    if not isinstance(text, str):
        raise UsageError(f"{name} is {text!r}, which is not text", "write name or name:key=value")
    specs = [text]
    if ".." in text:
        parts = split_joined(text) if registry is NORMS else [text]
        specs = ["+".join(chosen) for chosen in product(*(ranged_specs(registry, part, trust) for part in parts))]
    for spec in specs:
        registry.canonical(spec, trust)
    return specs


def ranged_specs(registry: Registry[Any], text: str, trust: Trust) -> list[str]:
    """One spec for each combination of the numbers in a spec's ranges."""
    component, params = split_spec(text)
    takes = registry.parameters(registry.find(component, trust)) if any(map(is_range, params.values())) else {}
    choices = []
    for key, value in params.items():
        kind = number_type(takes[key].type) if key in takes else None
        if not kind or not is_range(value):
            choices.append([value])
            continue
        numbers = (read_whole_range if kind is int else read_range)(value, f"{component}:{key}")
        choices.append([format_value(number) for number in numbers])
    return [join_spec(component, dict(zip(params, chosen, strict=True))) for chosen in product(*choices)]


def number_type(kind: Any) -> type[int] | type[float] | None:
    """int or float if a type accepts numbers, perhaps besides words and None."""
    options = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return float if float in options else int if int in options else None
