"""Deviations from the protocol, with the reason; nothing at full scale."""

from __future__ import annotations

import pytest

from normbench_cli import suites
from normbench_cli.reporting.reproduction.protocol import protocol_differences, schedule_text
from normbench_cli.suites import Scale
from normbench_cli.suites.scales import Length


def differences(name: str, scale: Scale) -> list[tuple[str, ...]]:
    found = protocol_differences([suites.find(name)], scale)
    return [(one.setting, one.protocol, one.here, one.why.partition(",")[0]) for one in found]


def test_a_suite_with_a_schedule_of_its_own() -> None:
    scale = Scale("short", fraction=0.5)
    assert differences("popnorm-setting/resnet20-weights", scale) == [
        ("iterations", "30000", "2340", "set by the suite for this scale"),
        ("seeds", "2", "1", "to save time; the spread over seeds is not well known"),
    ]
    assert (
        schedule_text(suites.find("popnorm-setting/resnet20-weights"), scale)
        == "2340 of 30000 iterations, 1 of 2 seeds"
    )


def test_a_schedule_that_the_budget_shortens() -> None:
    found = differences("popnorm/table1", Scale("short", fraction=0.01))
    assert ("iterations", "30000", "300", "shortened to fit all runs into the budget") in found


@pytest.mark.parametrize(
    ("here", "paper", "text"),
    [
        (300, 30000, "300 of 30000 epochs"),
        (40, 30, "40 epochs (paper: 30)"),
        (30, 30, "30 epochs"),
        (30, None, "30 epochs"),
    ],
)
def test_a_length_names_the_papers_where_it_differs(here: int, paper: int | None, text: str) -> None:
    assert str(Length(here, paper, "epochs")) == text


def test_stand_ins_are_named() -> None:
    assert ("data", "cifar10", "digits:size=8", "a stand-in that runs in seconds") in differences(
        "popnorm/table1", Scale("smoke")
    )


@pytest.mark.parametrize("name", ["popnorm/table1", "augnorm-graph/table2"])
def test_nothing_differs_at_full_scale(name: str) -> None:
    assert differences(name, Scale("full")) == []
