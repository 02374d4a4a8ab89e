"""Remarks and layers that differ become notes of a report, each once."""

from __future__ import annotations

from typing import Any

import pytest

from normbench_cli.reporting.remarks import remark_notes

ALONE = "weightstandardization stands alone"


def kind(groups: int, layers: int) -> dict[str, Any]:
    return {"norm": "groupnorm", "parameters": {"groups": groups, "eps": 1e-5}, "layers": ["x"] * layers}


def test_a_remark_is_a_note_with_the_runs_that_it_is_about() -> None:
    assert remark_notes({"a": {"remarks": [ALONE]}, "b": {}}, 2) == [f"{ALONE} (a)."]
    assert remark_notes({"a": {"remarks": [ALONE]}}, 2) == [f"{ALONE} (a)."]
    assert remark_notes({"a": {"remarks": [ALONE]}, "b": {"remarks": [ALONE]}}, 2) == [f"{ALONE} (all runs)."]
    many = {str(number): {"remarks": [ALONE] if number else []} for number in range(6)}
    assert remark_notes(many, 6) == [f"{ALONE} (5 of 6 runs)."]


def test_parameters_in_which_layers_differ_are_a_note() -> None:
    found = remark_notes({"a": {"norm_layers": [kind(8, 7), kind(16, 12)]}, "b": {"norm_layers": [kind(8, 3)]}}, 2)
    assert found == ["Layers of groupnorm differ in groups: 8 in 7, 16 in 12 of 19 layers (a)."]


@pytest.mark.parametrize("details", [{}, {"remarks": 3, "norm_layers": "x"}, {"norm_layers": [1, {}]}])
def test_details_of_another_form_are_no_note(details: dict[str, Any]) -> None:
    assert remark_notes({"a": details}, 1) == []
