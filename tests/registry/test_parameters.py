"""Parameters that are read from the source are those that importing the component would show."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Literal, Optional

import pytest

from normbench_cli.registry import REGISTRIES, Entry
from normbench_cli.registry.facts import ScheduleFacts
from normbench_cli.registry.parameters import REQUIRED, Parameter, inspect_signature, read_signature
from normbench_cli.registry.source import Unreadable, find_definition, source_file

EVERY = [entry for registry in REGISTRIES.values() for entry in registry.entries.values()]


@pytest.mark.parametrize("entry", EVERY, ids=lambda entry: f"{entry.kind} {entry.name}")
def test_source_and_component_agree(entry: Entry[Any]) -> None:
    read = read_signature(entry.module, entry.attribute, entry.supplied)
    inspected = inspect_signature(entry.load(), entry.supplied)
    assert read.parameters == inspected.parameters
    assert list(read.parameters) == list(inspected.parameters)
    assert list(map(repr, read.parameters.values())) == list(map(repr, inspected.parameters.values()))
    assert entry.defaults == {name: parameter.default for name, parameter in inspected.parameters.items()}


SOURCE = """
from dataclasses import dataclass
from functools import cache
from typing import Literal, Optional, Union
from torch import nn
import torch.nn as tnn
from their_types import Mode as Form, LIMIT, Base as Parent
from their_types import *

Size = Literal[1, 2]
DEFAULT = -0.5

def plain(op, /, a: int, b: float = DEFAULT, *rest, c: "Size" = 2, d: Optional[int] = None, e="x", **more): ...

class Own:
    def __init__(self, num_features: nn.Module, form: Form = "soft", limit: float = LIMIT) -> None: ...

class Child(Own): ...

class Grandchild(Parent): ...

class Starred(OtherBase): ...

class Union2:
    def __init__(self, x: Union[int, None] = 3, y: float | None = 1.5) -> None: ...

Renamed = Own

@dataclass
class Fields:
    size: int = 4

@cache
def wrapped(a: int = 1): ...

class Meta(metaclass=type):
    def __init__(self, a: int = 1): ...

class New:
    def __new__(cls, a: int = 1): return object.__new__(cls)

class Odd:
    def __init__(self, a: list[int] = ()): ...

class Computed:
    def __init__(self, a: float = 1 / 3): ...

if DEFAULT:
    def hidden(a: int = 1): ...
"""
TYPES = """
from typing import Literal
Mode = Literal["soft", "hard"]
LIMIT = 7.5
class Base:
    def __init__(self, width: int = 3): ...
class OtherBase:
    def __init__(self, mode: Mode = "hard"): ...
"""


@pytest.fixture(autouse=True)
def their_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_source.py").write_text(SOURCE)
    (tmp_path / "their_types.py").write_text(TYPES)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.parametrize(
    ("attribute", "parameters"),
    [
        (
            "plain",
            {
                "a": (int, REQUIRED),
                "b": (float, -0.5),
                "c": (Literal[1, 2], 2),
                "d": (Optional[int], None),  # noqa: UP045
                "e": (str, "x"),
            },
        ),
        ("Own", {"form": (Literal["soft", "hard"], "soft"), "limit": (float, 7.5)}),
        ("Child", {"form": (Literal["soft", "hard"], "soft"), "limit": (float, 7.5)}),
        ("Renamed", {"form": (Literal["soft", "hard"], "soft"), "limit": (float, 7.5)}),
        ("Grandchild", {"width": (int, 3)}),
        ("Starred", {"mode": (Literal["soft", "hard"], "hard")}),
        ("Union2", {"x": (Optional[int], 3), "y": (float | None, 1.5)}),  # noqa: UP045
    ],
)
def test_parameters_are_read_through_imports_and_inheritance(attribute: str, parameters: dict[str, Any]) -> None:
    read = read_signature("their_source", attribute, supplied=("op", "num_features"))
    assert {name: tuple(parameter)[:2] for name, parameter in read.parameters.items()} == parameters


@pytest.mark.parametrize(
    "attribute", ["Fields", "wrapped", "Meta", "New", "Odd", "Computed", "hidden", "missing", "nn.NoSuchModule"]
)
def test_unusual_source_is_left_to_the_component_itself(attribute: str) -> None:
    with pytest.raises(Unreadable):
        read_signature("their_source", attribute, supplied=())


def test_an_entry_falls_back_to_the_component() -> None:
    entry = Entry[ScheduleFacts](
        "schedule", "fields", "their_source", "Fields", describe=lambda: pytest.fail("not needed")
    )
    assert entry.defaults == {"size": 4}


def test_partial_functions_and_callable_objects_have_parameters() -> None:
    class Warmup:
        def __call__(self, progress: float, share: float = 0.5) -> float:
            return share

    for component in (Warmup(), partial(Warmup().__call__, share=0.5)):
        assert inspect_signature(component, ("progress",)).parameters == {"share": Parameter(float, 0.5)}


def test_keywords_of_any_name_are_known() -> None:
    assert read_signature("their_source", "plain", ()).takes_any
    assert not read_signature("their_source", "Own", ("num_features",)).takes_any


def test_definitions_in_torch_are_found_without_importing_it() -> None:
    assert find_definition("normbench_cli.activations.torch_activations", "nn.ELU").module.startswith(
        "torch.nn.modules"
    )


@pytest.mark.parametrize("module", ["no_such_module", "normbench_cli.no_such_module", "math"])
def test_a_module_without_source_is_unreadable(module: str) -> None:
    with pytest.raises(Unreadable):
        source_file(module)
