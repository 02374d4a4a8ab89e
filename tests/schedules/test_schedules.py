"""Every schedule reaches the full rate and stays between 0 and 1; the papers' schedules fall where they should."""

from __future__ import annotations

import pytest

from normbench_cli.registry import SCHEDULES


@pytest.mark.parametrize("name", SCHEDULES.choices())
def test_rates_stay_between_zero_and_one_and_do_not_end_above_their_start(name: str) -> None:
    schedule = SCHEDULES.build(name)
    rates = [schedule(step / 100) for step in range(101)]
    assert all(0 <= rate <= 1 for rate in rates)
    assert max(rates) == pytest.approx(1, abs=0.01)
    assert rates[-1] <= rates[0]


def test_step_schedule_falls_at_the_points_of_the_paper() -> None:
    step = SCHEDULES.build("step")
    assert [step(i / 30) for i in (0, 15, 16, 23, 24, 30)] == pytest.approx([1, 1, 0.1, 0.1, 0.01, 0.01])


@pytest.mark.parametrize("name", ["cosine", "linear"])
def test_stairs_hold_the_rate_during_an_epoch(name: str) -> None:
    smooth, stairs = SCHEDULES.build(name), SCHEDULES.build(f"{name}:stairs=10")
    assert stairs(0.39) == stairs(0.3) == smooth(0.3)
    assert stairs(0.4) == smooth(0.4)


def test_onecycle_peaks_at_the_end_of_its_warmup() -> None:
    onecycle = SCHEDULES.build("onecycle:warmup=0.5,start=0.1")
    assert [onecycle(0), onecycle(0.5), onecycle(1)] == pytest.approx([0.1, 1, 0])
