"""How often the gate is right, over histories whose faults are known.  The table is in docs/gate.md."""

from __future__ import annotations

import pytest

from tests.nightly.gate.simulation import HARDER, false_alarms, found_by_gate


def test_fewer_than_one_night_in_a_hundred_has_a_false_alarm_in_any_of_54_measurements() -> None:
    alarms = false_alarms(1, 8)
    assert alarms.new < 0.01 * alarms.nights


@pytest.mark.parametrize(("size", "nights"), [(0.10, 3), (0.20, 1)])
def test_slowdowns_are_found_in_time_and_dated(size: float, nights: int) -> None:
    found = found_by_gate(2, 200, size)
    assert found.share_within(nights) >= 0.95
    assert found.share_dated() >= 0.9
    found.errors = found.later
    assert found.share_dated() >= 0.9


@pytest.mark.slow
def test_so_it_is_over_a_thousand_histories() -> None:
    alarms = false_alarms(3, 1000)
    assert alarms.new < 0.01 * alarms.nights
    assert alarms.improvements < 0.01 * alarms.nights
    assert found_by_gate(4, 1000, 0.10).share_within(3) >= 0.95
    assert found_by_gate(5, 1000, 0.20).share_within(1) >= 0.95


@pytest.mark.slow
def test_more_noise_than_assumed_costs_time_before_it_costs_trust() -> None:
    alarms = false_alarms(6, 100, world=HARDER)
    assert alarms.new < 0.06 * alarms.nights
    assert found_by_gate(7, 500, 0.20, HARDER).share_within(3) >= 0.95
