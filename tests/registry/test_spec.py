"""The grammar of specs: lists, joined norms, parameters, values, and the suggestion for a wrong word."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from normbench_cli.errors import UsageError
from normbench_cli.registry.spec import (
    expand,
    format_value,
    join_spec,
    read_value,
    split_joined,
    split_list,
    split_spec,
    suggest,
)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("bn", ["bn"]),
        ("bn,none", ["bn", "none"]),
        ("augnorm:phi=1.5,popnorm:kappa=4,remove=none,bn", ["augnorm:phi=1.5", "popnorm:kappa=4,remove=none", "bn"]),
        ("augnorm:solver=newton:iterations=4,bn", ["augnorm:solver=newton:iterations=4", "bn"]),
        ("a.b:C:x=1,y=2,bn", ["a.b:C:x=1,y=2", "bn"]),
    ],
)
def test_lists_are_split_between_specs_only(text: str, pieces: list[str]) -> None:
    assert split_list(text) == pieces


@pytest.mark.parametrize(
    ("text", "name", "params"),
    [
        ("bn", "bn", {}),
        ("popnorm:kappa=4,remove=none", "popnorm", {"kappa": "4", "remove": "none"}),
        ("a.b:C", "a.b:C", {}),
        ("a.b:C:x=1", "a.b:C", {"x": "1"}),
        ("augnorm:solver=newton:iterations=4", "augnorm", {"solver": "newton:iterations=4"}),
        (r"folder:path=cats\,dogs,size=9", "folder", {"path": "cats,dogs", "size": "9"}),
    ],
)
def test_specs_are_split_into_name_and_parameters(text: str, name: str, params: dict[str, Any]) -> None:
    assert split_spec(text) == (name, params)


@given(st.dictionaries(st.sampled_from("abc"), st.text("x,=:/+ ", min_size=1).map(str.strip).filter(bool)))
def test_a_spec_survives_being_written(params: dict[str, Any]) -> None:
    written = join_spec("name", params)
    assert split_spec(written) == ("name", params)
    assert split_list(f"{written},other") == [written, "other"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [("ws+gn:groups=8", ["ws", "gn:groups=8"]), ("batchnorm:eps=1e+3", ["batchnorm:eps=1e+3"]), ("bn", ["bn"])],
)
def test_joined_specs_are_split_at_a_plus_between_names_only(text: str, parts: list[str]) -> None:
    assert split_joined(text) == parts


def test_slashes_stand_for_several_values() -> None:
    assert expand("bim:eps=1/2,steps=3/4") == [f"bim:eps={eps},steps={steps}" for eps in (1, 2) for steps in (3, 4)]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("4", int, 4),
        ("1e-5", float, 1e-5),
        ("yes", bool, True),
        ("None", float | None, None),
        ("2", float | None, 2.0),
        ("b", Literal["a", "b"], "b"),
        ("word", str, "word"),
    ],
)
def test_values_are_read_by_type(text: str, kind: Any, value: object) -> None:
    assert read_value(text, kind, "here") == value


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ("4.5", int, "here=4.5 is not a whole number"),
        ("much", float, "here=much is not a number"),
        ("maybe", bool, "here=maybe is not true or false"),
        ("much", int | None, "here=much is not a whole number or none"),
        ("C", Literal["A", "B"], "here=C is not one of A, B"),
    ],
)
def test_wrong_values_are_refused(text: str, kind: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read_value(text, kind, "here")


@given(st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False)))
def test_a_written_value_is_read_back(value: object) -> None:
    assert read_value(format_value(value), type(value), "here") == value


def test_the_nearest_word_is_suggested() -> None:
    assert suggest("colour", ["color", "size"]) == "did you mean 'color'? (choose from color, size)"
    assert suggest("x", []) == "it takes none"


def test_of_many_words_only_the_nearest_are_listed() -> None:
    words = [f"test/accuracy@fold{number}" for number in range(100)]
    said = suggest("test/acuracy@fold7", words)
    assert said.startswith("did you mean 'test/accuracy@fold7'? (there are 100; the nearest are ")
    assert said.count("@fold") == 11
