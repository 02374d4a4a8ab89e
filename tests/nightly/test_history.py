"""What nights have measured, as series for the gate."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from sqlalchemy import update

from normbench_cli.nightly.decisions import Decision, record_decision
from normbench_cli.nightly.history import last_measured, read_nights, read_series
from normbench_cli.nightly.series import Series
from normbench_cli.store import Store
from normbench_cli.store.nights import begin_night, end_night, record_cell
from normbench_cli.store.schema import Night
from tests.nightly.conftest import FACTS

SUITE = "tests"


def add_night(
    store: Store, day: int, status: str = "finished", *, value: float = 1.0, environment_class: str = "c", **facts: Any
) -> str:
    night = begin_night(store, SUITE, date(2026, 3, day), f"r{day}", FACTS | facts)
    values = {"train/loss": value, "cell_seconds": 2.0}
    record_cell(store, night, "mlp", values, environment_class=environment_class)
    if status != "running":
        end_night(store, night, status)
    return night


def the_series(store: Store) -> Series:
    (series,) = read_series(store, SUITE)
    return series


def test_a_series_has_the_nights_oldest_first_with_their_revisions(store: Store) -> None:
    for day in (1, 2, 3):
        add_night(store, day, value=day / 10)
    series = the_series(store)
    assert series.measurement.name == "mlp train/loss"
    assert series.measurement.exact
    assert [(point.day.day, point.value, point.revision) for point in series.points] == [
        (1, 0.1, "r1"),
        (2, 0.2, "r2"),
        (3, 0.3, "r3"),
    ]


def test_the_nights_of_another_suite_do_not_count(store: Store) -> None:
    add_night(store, 1)
    assert read_series(store, "another") == []


def test_what_a_killed_night_measured_does_not_count(store: Store) -> None:
    for day, status in ((1, "finished"), (2, "killed"), (3, "incomplete"), (4, "running")):
        add_night(store, day, status)
    assert [point.day.day for point in the_series(store).points] == [1, 3, 4]
    add_night(store, 5, "killed")
    assert the_series(store).points[-1].day.day == 4


def test_another_class_begins_a_series_of_its_own(store: Store) -> None:
    for day, name, days in ((1, "old", [1]), (2, "new", [2]), (3, "old", [1, 3])):
        add_night(store, day, environment_class=name)
        assert [point.day.day for point in the_series(store).points] == days


def test_the_values_of_the_second_measurement_belong_to_their_night(store: Store) -> None:
    add_night(store, 1)
    night = add_night(store, 2)
    for repeat, value in ((1, 7.0), (2, 8.0)):
        record_cell(store, night, "mlp", {"train/loss": value}, environment_class="c", repeat=repeat)
    record_cell(store, night, "other", {"train/loss": 9.0}, environment_class="c", repeat=1)  # never measured before
    assert [point.again for point in the_series(store).points] == [(), (7.0, 8.0)]


def test_an_accepted_baseline_cuts_the_history(store: Store) -> None:
    for day in (1, 2, 3, 4):
        add_night(store, day)
    record_decision(store, Decision("accept", SUITE, "mlp train/loss", date(2026, 3, 3), "a reason"))
    assert [point.day.day for point in the_series(store).points] == [3, 4]
    record_decision(store, Decision("accept", SUITE, "mlp train/loss", date(2026, 3, 9), "from the next night on"))
    assert [point.day.day for point in the_series(store).points] == [4]


def test_only_on_a_deterministic_device_does_every_digit_count(store: Store) -> None:
    add_night(store, 1, device="cuda", deterministic=False)
    assert not the_series(store).measurement.exact


def test_nights_know_their_facts_and_classes(store: Store) -> None:
    add_night(store, 1, environment_class="old")
    add_night(store, 2, "killed", threads=8)
    first, second = read_nights(store, SUITE)
    assert (first.day, first.status, first.revision) == (date(2026, 3, 1), "finished", "r1")
    assert first.environment_classes == ("old",)
    assert second.environment["threads"] == 8


@pytest.mark.parametrize("damage", [{"status": "asleep"}, {"day": "asleep"}])
def test_a_damaged_night_costs_no_other(store: Store, damage: dict[str, str]) -> None:
    for day in (1, 2, 3):
        night = add_night(store, day)
    with store.writing() as session:
        session.execute(update(Night).where(Night.id == night).values(**damage))
    assert len(the_series(store).points) == 2
    assert any("asleep" in line for line in store.damage())


def test_the_last_duration_of_a_cell_is_known(store: Store) -> None:
    add_night(store, 1)
    ((cell, (_, seconds)),) = last_measured(store, SUITE).items()
    assert (cell, seconds) == ("mlp", 2.0)
