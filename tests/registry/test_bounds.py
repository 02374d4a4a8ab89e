"""No component of any registry, and no setting, accepts nan, inf or a number outside the bounds that it declares."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from normbench_cli.cli.list import limits
from normbench_cli.config import FIELDS, TYPES, make_config
from normbench_cli.errors import UsageError
from normbench_cli.norms import AugNorm, BatchNorm, DiffPhi
from normbench_cli.registry import NORMS, REGISTRIES
from normbench_cli.registry.bounds import Bounds, Seed, bounds_of, checked
from normbench_cli.registry.parameters import REQUIRED, Parameter, inspect_signature, read_signature
from normbench_cli.seeds import LARGEST_SEED


def kinds(parameter: Parameter) -> set[Any]:
    return {parameter.type, *get_args(parameter.type)} if get_origin(parameter.type) is not Literal else set()


def numbers() -> Iterator[Any]:
    for registry in REGISTRIES.values():
        for entry in registry.entries.values():
            for name, parameter in entry.parameters.items():
                if {int, float} & kinds(parameter):
                    yield pytest.param(registry, entry.name, name, parameter, id=f"{entry.name}:{name}")


NUMBERS = list(numbers())
SETTINGS = [name for name, kind in TYPES.items() if {int, float} & {kind, *get_args(kind)}]


def outside(bounds: Bounds) -> st.SearchStrategy[float]:
    """Numbers that the bounds exclude, near them and far away."""
    low, high = bounds.least, bounds.most
    parts = [st.just(math.nan), st.just(-math.inf)] + [st.just(math.inf)] * (not bounds.infinite)
    if low is not None:
        parts.append(st.floats(max_value=low, exclude_max=True))
    if bounds.above is not None:
        parts.append(st.floats(max_value=bounds.above))
    if high is not None:
        parts.append(st.floats(min_value=high, exclude_min=True, allow_infinity=not bounds.infinite))
    if bounds.below is not None:
        parts.append(st.floats(min_value=bounds.below))
    return st.one_of(parts)


@pytest.mark.parametrize(("registry", "component", "name", "parameter"), NUMBERS)
@settings(max_examples=10)
@given(data=st.data())
def test_no_component_accepts_a_number_outside_its_bounds(
    registry: Any, component: str, name: str, parameter: Parameter, data: st.DataObject
) -> None:
    value = data.draw(outside(parameter.bounds))
    for written in {value, *([math.floor(value), math.ceil(value)] if math.isfinite(value) else [])}:
        if parameter.bounds.accepts(written):
            continue
        text = f"{written}" if float in kinds(parameter) or not math.isfinite(written) else f"{int(written)}"
        if parameter.bounds.accepts(float(text)):
            continue
        with pytest.raises(UsageError, match=f"{component}:{name}(=| is ).*give|write"):
            registry.parse(f"{component}:{name}={text}")


@pytest.mark.parametrize("name", SETTINGS)
@settings(max_examples=10)
@given(data=st.data())
def test_no_setting_accepts_a_number_outside_its_bounds(name: str, data: st.DataObject) -> None:
    value = data.draw(outside(FIELDS[name].metadata["bounds"]))
    for written in (value, str(value)):
        with pytest.raises(UsageError, match=name):
            make_config({name: written})


@pytest.mark.parametrize(("registry", "component", "name", "parameter"), NUMBERS)
def test_every_default_is_within_its_bounds_and_every_count_has_a_limit(
    registry: Any, component: str, name: str, parameter: Parameter
) -> None:
    assert parameter.default is REQUIRED or parameter.bounds.accepts(parameter.default)
    if int in kinds(parameter):
        assert parameter.bounds.least is not None
        assert parameter.bounds.most is not None
    if parameter.bounds.limits:
        assert f"{name} {parameter.bounds}" in limits(registry, registry.entries[component])


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, "x"])
def test_a_class_checks_its_arguments_when_it_is_built_directly(value: Any) -> None:
    for make in (AugNorm, BatchNorm, DiffPhi):
        with pytest.raises(ValueError, match=f"eps is {value}; give "):
            make(4, eps=value)
    with pytest.raises(ValueError, match=f"momentum is {value}; give 0 to 1"):
        DiffPhi(4, 1.5, 1.2, 2.0, 1e-5, value)
    with pytest.raises(UsageError, match=f"batchnorm:eps is {value}"):
        NORMS.build("batchnorm", num_features=4, eps=value)


def test_infinity_is_accepted_where_it_is_declared() -> None:
    assert NORMS.canonical("augnorm:phi=inf") == "augnorm:phi=inf"
    assert AugNorm(4, phi=math.inf).fixed_phi == math.inf


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        (Bounds(), "give a finite number"),
        (Bounds(least=0), "give 0 or more"),
        (Bounds(most=5), "give at most 5"),
        (Bounds(above=0), "give a number above 0"),
        (Bounds(above=0, most=1), "give a number above 0 and at most 1"),
        (Bounds(least=0, below=1), "give 0 or more and below 1"),
        (Bounds(least=1, most=16, infinite=True), "give 1 to 16, or inf"),
        (Bounds(least=1, most=1_000_000), "give 1 to 1,000,000"),
        (Bounds(one_of=("none", "tanh")), "give none or tanh"),
    ],
    ids=str,
)
def test_bounds_in_words(bounds: Bounds, words: str) -> None:
    assert bounds.remedy == words


LIMIT = 3


def within(progress: float, share: Annotated[float, Bounds(least=0, most=1)] = 0.5, *, count: "Seed" = 1) -> float:  # noqa: UP037
    return progress * share * count


def test_bounds_are_read_from_the_source_as_from_the_function() -> None:
    expected = {"share": Bounds(least=0, most=1), "count": bounds_of(Seed)}
    for found in (read_signature(__name__, "within", ("progress",)), inspect_signature(within, ("progress",))):
        assert {name: parameter.bounds for name, parameter in found.parameters.items()} == expected


def test_a_function_checks_its_arguments_in_any_place() -> None:
    function = checked(within)
    assert function(1.0, 0.25, count=2) == 0.5
    for arguments, keywords in (((1.0, 2.0), {}), ((1.0,), {"share": 2.0}), ((1.0,), {"count": -1})):
        with pytest.raises(ValueError, match=r"(share|count) is (2.0|-1); give 0 to"):
            function(*arguments, **keywords)


def test_seeds_are_bounded_alike_everywhere() -> None:
    assert bounds_of(Seed).most == FIELDS["seed"].metadata["bounds"].most == LARGEST_SEED
