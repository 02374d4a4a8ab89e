"""How often the gate is right, over histories whose faults are known.  The tables are in docs/gate.md."""

from __future__ import annotations

import pytest

from tests.nightly.gate.simulation import HARDER, USUAL, World, false_alarms, found_by_gate

AGREEING = World(noise=0.01, sticky=0.028)  # repetitions agree, nights do not


def check(seed: int, suites: int, slowdowns: int, world: World = HARDER, least: float = 0.95) -> None:
    """Exit code 3 in fewer than one uneventful night in a hundred; slowdowns found, dated, and not forgotten.

    least: the share found, less for a few slowdowns.
    """
    alarms = false_alarms(seed, suites, world)
    assert alarms.new <= alarms.standing < 0.01 * alarms.nights
    assert alarms.improvements < 0.01 * alarms.nights
    ten, twenty = (found_by_gate(seed, slowdowns, size, world) for size in (0.10, 0.20))
    assert ten.share_within(3) >= least
    assert twenty.share_within(1) >= least
    for found in (ten, twenty):
        assert found.share_dated() >= 0.9
        assert found.share_standing() >= 0.99
        found.errors = found.later
        assert found.share_dated() >= 0.9


def test_one_night_in_a_hundred_at_most_has_a_false_alarm_and_slowdowns_are_found() -> None:
    check(1, 4, 40, least=0.9)


@pytest.mark.slow
def test_so_it_is_over_more_histories() -> None:
    check(1, 100, 400)  # the first ones of the table


@pytest.mark.benchmark
@pytest.mark.parametrize("world", [HARDER, USUAL])
def test_so_it_is_over_a_thousand_histories(world: World) -> None:
    check(3, 1000, 1000, world)


@pytest.mark.slow
def test_repetitions_that_agree_by_themselves_cost_trust() -> None:
    alarms = false_alarms(6, 30, AGREEING)
    assert 0.01 * alarms.nights < alarms.standing < 0.4 * alarms.nights
    assert found_by_gate(7, 50, 0.20, AGREEING).share_within(3) >= 0.9
