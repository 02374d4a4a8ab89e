"""Components are found by name, specs have one canonical form, and what is wrong is said in one line."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from normbench_cli.errors import UsageError
from normbench_cli.registry import MODELS, NORMS


@given(eps=st.floats(1e-12, 1e3), affine=st.booleans())
def test_canonical_form_is_stable_and_leaves_out_defaults(eps: float, affine: bool) -> None:
    once = NORMS.canonical(f"bn:affine={affine},eps={eps}")
    assert NORMS.canonical(once) == once
    assert ("affine" in once) == (not affine)
    assert NORMS.canonical("batchnorm:eps=1e-5,affine=true") == "batchnorm"


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("batchnrm", "did you mean 'batchnorm'"),
        ("batchnorm:epz=1", "did you mean 'eps'"),
        ("batchnorm:eps=much", "is not a number"),
        ("batchnorm:affine=maybe", "true or false"),
        ("batchnorm:eps", "key=value"),
        ("batchnorm:eps=1,eps=2", "twice"),
        ("", "names nothing"),
        ("os:system", "not a class made from torch.nn.Module or a function of op"),
        ("no.such.module:Norm", "cannot be imported"),
        ("torch.nn:NoSuchClass", "cannot be imported"),
        ("torch.nn:functional", "not a class made from"),
    ],
)
def test_a_wrong_spec_is_answered_in_one_clear_line(spec: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as error:
        NORMS.canonical(spec)
    assert "\n" not in str(error.value)


def test_a_spec_knows_what_was_written() -> None:
    spec = NORMS.parse("bn:eps=1e-5,momentum=0.2")
    assert dict(spec.params) == {"momentum": 0.2}
    assert spec.written == {"eps", "momentum"}


def test_parameters_of_the_spec_and_keywords_meet() -> None:
    layer = NORMS.build("batchnorm:eps=0.5", num_features=3, momentum=0.25)
    assert (layer.num_features, layer.eps, layer.momentum) == (3, 0.5, 0.25)


def test_building_refuses_unknown_arguments() -> None:
    with pytest.raises(UsageError, match="no parameter 'channels'"):
        NORMS.build("batchnorm", channels=3)


def test_building_refuses_an_argument_of_another_placement() -> None:
    with pytest.raises(UsageError, match="norm 'batchnorm' does not take 'op'"):
        NORMS.build("batchnorm", op=torch.nn.Linear(2, 2))


def test_options_of_the_placement_do_not_reach_the_layer() -> None:
    assert NORMS.canonical("bn:placement=before,first=no") == "batchnorm:first=false,placement=before"
    assert NORMS.build("bn:placement=before,first=no", num_features=3).num_features == 3


def test_models_are_built_by_name() -> None:
    net = MODELS.build("resnet20", norm="popnorm", act="sigmoid", num_classes=10, in_channels=3)
    assert isinstance(net, torch.nn.Module)
