"""normbench list: every component of every kind, as a table, with documentation, as JSON."""

from __future__ import annotations

import json

import pytest

from normbench_cli import recipes
from normbench_cli.registry import REGISTRIES
from tests.support import RunCommand


@pytest.mark.parametrize("kind", REGISTRIES)
def test_list_shows_every_component(normbench: RunCommand, kind: str) -> None:
    rows = json.loads(normbench("list", kind, "--json").out)[kind]
    names = [row["name"] for row in rows]
    assert names == list(REGISTRIES[kind].entries)
    assert all({"name", "aliases", "what", "paper", "parameters", "bounds"} == set(row) for row in rows)
    table = normbench("list", kind).out
    assert all(name in table for name in names)


def test_verbose_prints_documentation_and_parameters(normbench: RunCommand) -> None:
    page = normbench("list", "attacks", "--verbose").out
    assert page.startswith("bim: ")
    assert "\n  parameters: " in page


def test_the_bounds_of_parameters_are_shown(normbench: RunCommand) -> None:
    rows = {row["name"]: row["bounds"] for row in json.loads(normbench("list", "norms", "--json").out)["norms"]}
    assert rows["augnorm"]["phi"] == {"least": 1, "most": 16, "infinite": True}
    assert rows["none"] == {}
    page = normbench("list", "activations", "--verbose").out
    assert "\n  bounds: beta 0.001 to 1,000, threshold 0 or more\n" in page


def test_an_unknown_kind_is_answered_with_the_nearest(normbench: RunCommand) -> None:
    ended = normbench("list", "norm")
    assert (ended.code, ended.out) == (2, "")
    assert "did you mean 'norms'" in ended.err


def test_recipes_are_listed_with_their_settings_and_the_data_sets_that_use_them(normbench: RunCommand) -> None:
    rows = {row["name"]: row for row in json.loads(normbench("list", "recipes", "--json").out)["recipes"]}
    assert list(rows) == recipes.names()
    assert (rows["popnorm-cifar"]["data"], rows["popnorm-cifar"]["settings"]["iterations"]) == (
        "cifar10, cifar100, fashionmnist",
        30_000,
    )
    assert all(name in normbench("list", "recipes").out for name in rows)
    page = normbench("list", "recipes", "-v").out
    assert "  default of mutag, proteins, ptc, toy_graphs, tu\n" in page
    assert "  with popnorm:divide=none: lr=0.005\n" in page
