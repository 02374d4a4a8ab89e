"""Each form of an axis gives the same fingerprints from a command line, from a file and from Python."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st
from typer.main import get_command

import normbench_cli as nb
from normbench_cli.cli.main import app
from normbench_cli.config import RunConfig

COMMAND = get_command(app)
BASE = {"data": "digits:size=8", "model": "mlp:width=8", "iterations": 2}
BY_SET = ("init", "optimizer")  # settings without an option of their own
COUNTS = st.integers(2, 4)


def distinct(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(values, min_size=1, max_size=3, unique=True)


SHORT = st.floats(1e-5, 10).map(lambda number: float(f"{number:.3g}"))
EVEN = st.builds(lambda first, step, count: f"{first}..{first + step}/{count}", SHORT, SHORT, COUNTS)
LOGARITHMIC = EVEN.map("log:{}".format)
WHOLE = st.builds(
    lambda first, by, count: f"{first}..{first + by * (count - 1)}/{count}", *[st.integers(2, 60)] * 2, COUNTS
)
PHIS = st.builds(lambda count: f"augnorm:phi=1.1..1.9/{count}", COUNTS)
FORMS: dict[str, st.SearchStrategy[Any]] = {
    "norm": distinct(st.sampled_from(["bn", "popnorm:kappa=4,remove=none", "ws+gn:groups=8"]) | PHIS) | PHIS,
    "act": distinct(st.sampled_from(["relu", "sigmoid", "elu:alpha=1..2/3"])),
    "schedule": distinct(st.sampled_from(["cosine", "step:at=16/24,of=30", "linear:stairs=2..8/3"])),
    "lr": SHORT | distinct(SHORT) | EVEN | LOGARITHMIC,
    "weight_decay": st.integers(0, 3) | distinct(SHORT) | LOGARITHMIC,
    "batch_size": st.integers(2, 512) | distinct(st.integers(2, 512)) | WHOLE,
    "init": distinct(st.sampled_from(["torch", "xavier", "kaiming"])),
    "optimizer": st.sampled_from(["sgd", "adam"]),
    "seeds": st.integers(0, 9) | distinct(st.integers(0, 9)) | st.sampled_from(["0-2", "1,5-6"]),
    "recipe": distinct(st.sampled_from(["digits", "popnorm-cifar"])),
}
CROSSED = st.lists(st.sampled_from(sorted(FORMS)), min_size=1, max_size=3, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: FORMS[name] for name in names})
)


@contextmanager
def planned(where: str) -> Iterator[list[str]]:
    """The fingerprints of what would be trained."""
    found: list[str] = []

    def plan_grid(configs: Iterable[RunConfig], *_args: Any, **_settings: Any) -> list[Any]:
        found.extend(config.fingerprint() for config in configs)
        return []

    with mock.patch(f"{where}.plan_grid", plan_grid):
        yield found


def by_command(given: dict[str, Any], zipped: list[list[str]], *words: str) -> list[str]:
    words = (*words, *(word for group in zipped for word in ("--zip", ",".join(group))))
    for name, value in given.items():
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        words += ("--set", f"{name}={text}") if name in BY_SET else (f"--{name.replace('_', '-')}", text)
    with planned("normbench_cli.cli.train") as found:
        assert COMMAND(["train", *words, "-q"], standalone_mode=False) == 0
    return found


def by_file(given: dict[str, Any], zipped: list[list[str]]) -> list[str]:
    lines = [f"{name.replace('_', '-')} = {json.dumps(value)}\n" for name, value in given.items()]
    Path("experiment.toml").write_text("".join(lines) + f"zip = {json.dumps(zipped)}\n")
    return by_command({}, [], "experiment.toml")


def by_python(given: dict[str, Any], zipped: list[list[str]]) -> list[str]:
    with planned("normbench_cli.experiments.grid") as found:
        nb.train(**given, zip=zipped)
    return found


def by_saved_file(given: dict[str, Any], zipped: list[list[str]]) -> list[str]:
    Path("saved.toml").unlink(missing_ok=True)
    assert by_command(given, zipped, "--save", "saved.toml") == []
    return by_command({}, [], "saved.toml")


def agree(given: dict[str, Any], zipped: list[list[str]]) -> list[str]:
    given = BASE | given
    found = by_command(given, zipped)
    assert found
    assert by_file(given, zipped) == found
    assert by_python(given, zipped) == found
    assert by_saved_file(given, zipped) == found
    return found


@settings(max_examples=15)
@given(CROSSED)
def test_crossed_axes(given: dict[str, Any]) -> None:
    agree(given, [])


@settings(max_examples=6)
@given(CROSSED, st.data())
def test_zipped_axes(given: dict[str, Any], data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 4))
    rates, sizes = (
        st.lists(values, min_size=count, max_size=count, unique=True) for values in (SHORT, st.integers(2, 9))
    )
    given |= {"lr": data.draw(st.just(f"log:0.01..1/{count}") | rates), "batch_size": data.draw(sizes)}
    crossed = {name: value for name, value in given.items() if name not in ("lr", "batch_size")}
    found = agree(given, [["lr", "batch_size"]])
    assert len(found) == count * len(by_command(BASE | crossed, []))
