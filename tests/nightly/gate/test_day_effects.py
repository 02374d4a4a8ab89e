"""What a night does to all times alike is not held against any of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from normbench_cli.nightly.gate.day_effects import day_effects, with_day_effects
from normbench_cli.nightly.gate.policy import LARGEST_DAY_EFFECT
from normbench_cli.nightly.series import Kind, Series
from tests.nightly.gate.series_of import calm, series

LAST = 19


def suite(times: int = 20, day: float = 0.02, noise: float = 0.01) -> NDArray[np.float64]:
    rng = np.random.default_rng(0)
    return 100 * np.exp(rng.normal(0, day, LAST + 1) + rng.normal(0, noise, (times, LAST + 1)))


def test_a_night_in_which_all_times_are_longer_explains_them() -> None:
    values = suite()
    values[:, LAST] = 100 * 1.02 * values[:, LAST] / np.median(values[:, LAST])
    assert day_effects(values).effects[LAST] == pytest.approx(1.02, abs=0.01)


def test_one_slow_measurement_is_no_day_effect() -> None:
    values = suite()
    before = day_effects(values).effects[LAST]
    values[0, LAST] *= 1.3
    assert day_effects(values).effects[LAST] == pytest.approx(before, abs=0.01)


@pytest.mark.parametrize(("day", "most"), [(0.02, LARGEST_DAY_EFFECT), (0.0, 0.01)])
def test_a_change_of_all_times_is_not_explained_away(day: float, most: float) -> None:
    values = suite(day=day)
    values[:, LAST] *= 1.2
    assert np.log(day_effects(values).effects[LAST]) <= most + 1e-9


def test_few_times_do_not_tell() -> None:
    found = day_effects(suite(times=5))
    assert (found.effects == 1).all()
    assert (found.noise == 1).all()


def test_a_noisy_night_is_seen_by_the_spread_of_all() -> None:
    values = suite(times=40)
    values[:, LAST] = 100 * np.exp(np.random.default_rng(1).normal(0, 0.03, 40))
    noise = day_effects(values).noise
    assert noise[LAST] > 2
    assert (noise[:LAST] == 1).mean() > 0.9


def test_missing_and_impossible_values_count_nothing() -> None:
    values = suite()
    values[3, 5:12], values[4, LAST], values[5, 7] = np.nan, -1.0, np.inf
    assert np.isfinite(day_effects(values).effects).all()


def named(name: str, kind: Kind, last: float) -> Series:
    one = series([*calm(12), last], kind=kind)
    return replace(one, measurement=replace(one.measurement, cell=name))


def test_only_times_are_compared_with_each_other() -> None:
    suite_of_two = [named(str(n), "time", 101.0) for n in range(9)] + [named("m", "memory", 101.0)]
    *times, memory = with_day_effects(suite_of_two)
    assert memory == suite_of_two[-1]
    assert {one.points[-1].day_effect for one in times} == {times[0].points[-1].day_effect}
    assert [one.measurement for one in times] == [one.measurement for one in suite_of_two[:-1]]
