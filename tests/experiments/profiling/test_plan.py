"""Plans: every combination is a case, wrong words are refused, and layers need not fit the model."""

from __future__ import annotations

from typing import Any

import pytest

from normbench_cli.errors import UsageError
from normbench_cli.experiments.profiling import plan
from normbench_cli.experiments.profiling.plan import plan_profile


def test_layers_are_measured_in_each_combination_with_their_counts() -> None:
    plan = plan_profile(
        ["popnorm"],
        shapes={(8, 4, 6, 6): 5, (8, 4): 2},
        only="layers",
        dtypes=["float32", "bfloat16"],
        memory_formats=["contiguous", "channels_last"],
        passes=["both", "eval"],
    )
    assert len(plan.cases) == 2 * 2 * 2 + 2 * 2  # rows of features lie one way only
    assert plan.places == len(plan.cases)
    assert {case.shape: count for case, count in plan.cases.items()} == {(8, 4, 6, 6): 5, (8, 4): 2}


def test_the_setting_channels_last_is_the_default_memory_format() -> None:
    (case,) = plan_profile([], shapes=[(8, 4, 6, 6)], only="layers", settings={"channels_last": True}).cases
    assert case.memory_format == "channels_last"
    assert {plan.memory_format for plan in plan_profile([], only="layers").cases} == {"contiguous"}


def test_layers_of_graphs_need_not_fit_the_model_of_images() -> None:
    plan = plan_profile(["graphnorm", "torch.nn:BatchNorm1d"], shapes=[(40, 8)], only="layers")
    assert [config.norm for config in plan.configs] == ["none", "batchnorm", "graphnorm", "torch.nn:BatchNorm1d"]


def test_usual_cases_add_nothing_to_the_identity() -> None:
    usual = plan_profile([], shapes=[(8, 4)], only="layers")
    other = plan_profile([], shapes=[(8, 4)], only="layers", passes=["eval"])
    assert usual.identity == [[(8, 4)], False]
    assert other.identity == [[(8, 4)], False, ["8x4+eval"]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtypes": ["float23"]}, r"--dtype float23 is not known; did you mean 'float32'"),
        ({"memory_formats": ["nhwc"]}, "--memory-format nhwc is not known"),
        ({"calls": ["eagre"]}, "--call eagre is not known"),
        ({"passes": ["forwards"]}, "--pass forwards is not known"),
        ({"only": "all"}, "--only all is not known"),
    ],
)
def test_wrong_words_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan_profile(["popnorm"], **options)


def test_what_the_device_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {"shapes": [(8, 4, 6, 6)], "only": "layers", "settings": {"device": "cpu"}}
    with pytest.raises(UsageError, match="cpu has no CUDA graphs; give --call compiled"):
        plan_profile([], calls=["reduce-overhead"], **given)
    monkeypatch.setattr(plan, "has_float64", lambda device: False)
    with pytest.raises(UsageError, match="cpu has no float64; give --dtype float32"):
        plan_profile([], dtypes=["float64"], **given)


def test_cuda_graphs_are_a_way_to_call_a_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "takes_flags", lambda device: True)
    (case,) = plan_profile([], shapes=[(8, 4, 6, 6)], only="layers", calls=["reduce-overhead"]).cases
    assert (case.compiles, case.compile_mode) == (True, "reduce-overhead")
    assert case.label == "8x4x6x6+reduce-overhead"
