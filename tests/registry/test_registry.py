"""Names, specs and parameters; what is wrong is said with the nearest right thing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from normbench_cli.errors import UsageError
from normbench_cli.registry import ACTIVATIONS, NORMS, SCHEDULES
from normbench_cli.registry.spec import join_spec, split_joined, split_list, split_spec


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
def test_lists_of_specs_are_split_between_specs_only(text: str, pieces: list[str]) -> None:
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
def test_specs_are_parsed(text: str, name: str, params: dict[str, Any]) -> None:
    assert split_spec(text) == (name, params)


@given(st.dictionaries(st.sampled_from("abc"), st.text("x,=:/+ ", min_size=1).map(str.strip).filter(bool)))
def test_a_spec_survives_being_written(params: dict[str, Any]) -> None:
    written = join_spec("name", params)
    assert split_spec(written) == ("name", params)
    assert split_list(f"{written},other") == [written, "other"]


def test_joined_specs_part_at_a_plus_between_names_only() -> None:
    assert split_joined("ws+gn:groups=8") == ["ws", "gn:groups=8"]
    assert split_joined("batchnorm:eps=1e+3") == ["batchnorm:eps=1e+3"]


@given(eps=st.floats(1e-12, 1e3), affine=st.booleans())
def test_canonical_form_is_stable_and_forgets_defaults(eps: float, affine: bool) -> None:
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
def test_wrong_specs_are_one_clear_line(spec: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as error:
        NORMS.canonical(spec)
    assert "\n" not in str(error.value)


def test_a_class_of_ones_own_is_found_in_the_working_folder(tmp_path: Path) -> None:
    (tmp_path / "their_norms.py").write_text(
        "from torch import nn\n"
        "class Twice(nn.Module):\n"
        "    '''Twice the input.'''\n"
        "    def __init__(self, num_features: int, factor: float = 2.0):\n"
        "        super().__init__()\n"
        "        self.factor = factor\n"
        "    def forward(self, x):\n"
        "        return self.factor * x\n"
    )
    layer = NORMS.build("their_norms:Twice:factor=3", num_features=4)
    assert torch.equal(layer(torch.ones(2, 4)), 3 * torch.ones(2, 4))
    assert NORMS.parse("their_norms:Twice").entry.summary == "Twice the input."
    assert str(tmp_path) not in sys.path


def test_entry_points_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint

    point = EntryPoint("theirs", "torch.nn:Identity", "normbench.activations")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point] if group == point.group else [])
    monkeypatch.delitem(ACTIVATIONS.__dict__, "entries", raising=False)
    try:
        assert isinstance(ACTIVATIONS.build("theirs"), torch.nn.Identity)
    finally:
        del ACTIVATIONS.__dict__["entries"]


def test_building_refuses_unknown_arguments() -> None:
    with pytest.raises(UsageError, match="no parameter 'channels'"):
        NORMS.build("batchnorm", channels=3)


@pytest.mark.parametrize("name", SCHEDULES.choices())
def test_schedules_stay_between_zero_and_one_and_begin_high(name: str) -> None:
    share = SCHEDULES.build(name)
    values = [share(step / 100) for step in range(101)]
    assert all(0 <= value <= 1 for value in values)
    assert max(values) == pytest.approx(1, abs=0.01)
    assert values[-1] <= values[0]


def test_step_schedule_falls_at_the_points_of_the_paper() -> None:
    step = SCHEDULES.build("step")
    assert [step(i / 30) for i in (0, 15, 16, 23, 24, 30)] == pytest.approx([1, 1, 0.1, 0.1, 0.01, 0.01])
