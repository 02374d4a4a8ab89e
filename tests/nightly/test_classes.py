"""Within which class nights are compared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from normbench_cli.nightly.cell import NightlyCell
from normbench_cli.nightly.classes import environment_class
from tests.nightly.conftest import FACTS

CELL = NightlyCell("a", "train", {"norm": "popnorm"})


@pytest.mark.parametrize(
    "change",
    [
        {"versions": {"torch": "2.14.0"}},
        {"device_name": "another processor"},
        {"threads": 4},
        {"python": "3.14"},
        {"platform": "Darwin-24"},
    ],
)
def test_hardware_and_versions_make_a_class(change: dict[str, Any]) -> None:
    assert environment_class(FACTS | change, CELL) != environment_class(FACTS, CELL)


@pytest.mark.parametrize(
    "change",
    [
        {"git_sha": "abc"},
        {"git_dirty": True},
        {"normbench": "9.9"},
        {"host": "another"},
        {"platform": "Linux-6.2"},
        {"versions": {"torch": "2.13.0", "pandas": "9"}},
    ],
)
def test_the_code_the_host_and_the_kernel_do_not(change: dict[str, Any]) -> None:
    assert environment_class(FACTS | change, CELL) == environment_class(FACTS, CELL)


def test_settings_make_a_class_and_the_name_of_the_cell_does_not() -> None:
    ours = environment_class(FACTS, CELL)
    assert environment_class(FACTS, replace(CELL, name="b")) == ours
    assert environment_class(FACTS, replace(CELL, settings={"norm": "none"})) != ours
    assert environment_class(FACTS, replace(CELL, rounds=30)) != ours


@pytest.mark.parametrize("change", [{"flags": {"tf32_conv": False}}, {"limits": {"power_limit_w": 250}}])
def test_how_a_gpu_is_set_and_limited_makes_another_class(change: dict[str, Any]) -> None:
    usual = FACTS | {"flags": {"tf32_conv": True}, "limits": {"power_limit_w": 300}}
    assert environment_class(usual | change, CELL) != environment_class(usual, CELL) != environment_class(FACTS, CELL)
